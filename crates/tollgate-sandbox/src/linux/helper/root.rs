//! The file system of a native sandbox: a small one in memory, with little in it.
//!
//! `/usr` and what the operator adds can be read, the workspace and scratch folders can be
//! written, `/proc` shows its own processes and nothing else, and nothing leads out.

use std::{
    ffi::{CStr, CString},
    fs, io,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Gid, Uid},
    mount::{
        MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive,
        mount_change, mount_remount, unmount,
    },
    process::pivot_root,
};

use super::{At, Trouble, carry, sys};
use crate::{job::Network, linux::plan::Plan};

/// Who the program is inside.
pub(crate) const INSIDE_ID: u32 = 1000;
/// Where the old root hangs until the box is closed.
const OLD: &str = "/old";
/// Folders of programs and libraries; on most systems all but the first are links.
pub(crate) const SYSTEM: [&str; 7] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];
/// What programs need of `/etc`, and what tells nothing about the machine.
pub(crate) const SETTINGS: [&str; 2] = ["/etc/ld.so.cache", "/etc/alternatives"];
/// What programs need besides to find others by name and to know them.
pub(crate) const NETWORK: [&str; 4] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/ssl/certs",
];
/// Devices that hold no state of anybody.
pub(crate) const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

const RDONLY: u64 = 0x1;
const NOSUID: u64 = 0x2;
const NODEV: u64 = 0x4;
const NOEXEC: u64 = 0x8;

/// Says who we are in the new namespace: one user, and no way to add another.
pub(super) fn map_user(uid: Uid, gid: Gid) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write(
        "/proc/self/uid_map",
        format!("{INSIDE_ID} {} 1", uid.as_raw()),
    )?;
    fs::write(
        "/proc/self/gid_map",
        format!("{INSIDE_ID} {} 1", gid.as_raw()),
    )
}

/// Builds the new root and moves into it; the old one is still there.
pub(super) fn build(plan: &Plan) -> Result<(), Trouble> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).at("propagation")?;
    let plain = MountFlags::NOSUID | MountFlags::NODEV;
    // Any folder will do; it is covered in our own view only, and not for long.
    mount(
        "tmpfs",
        "/tmp",
        "tmpfs",
        plain,
        c"size=1m,nr_inodes=4k,mode=755",
    )
    .at("root")?;
    fs::create_dir("/tmp/old").at("root")?;
    pivot_root("/tmp", "/tmp/old").at("pivot_root")?;
    system(&plan.read_only).at("system")?;
    devices().at("devices")?;
    scratch(plan).at("scratch")?;
    settings(plan.network).at("settings")?;
    fs::create_dir(&plan.workspace).at("workspace")?;
    if plan.is_disk_held {
        carry::make(&plan.workspace, &plan.limits).at("workspace")?;
    } else {
        mount_bind(".", &plan.workspace).at("workspace")?;
        restrict(&plan.workspace, NOSUID | NODEV).at("workspace")?;
    }
    rustix::system::sethostname(b"sandbox").at("host_name")
}

/// Shuts the box, from its first process: own `/proc`, no old root, nothing else to write.
pub(super) fn close(plan: &Plan) -> Result<(), Trouble> {
    let plain = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    fs::create_dir("/proc").at("proc")?;
    mount("proc", "/proc", "proc", plain, c"subset=pid,hidepid=2").at("proc")?;
    unmount(OLD, UnmountFlags::DETACH).at("old_root")?;
    fs::remove_dir(OLD).at("old_root")?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    mount_remount("/", flags, c"").at("read_only_root")?;
    rustix::process::chdir(&plan.workspace).at("workspace")
}

fn old(path: &Path) -> PathBuf {
    Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path))
}

fn restrict(target: &Path, attributes: u64) -> io::Result<()> {
    let target = CString::new(target.as_os_str().as_bytes())?;
    sys::restrict_mount(&target, attributes)
}

/// Programs and libraries: links stay links, folders are shown and cannot be changed.
fn system(read_only: &[PathBuf]) -> io::Result<()> {
    for path in SYSTEM.iter().map(Path::new) {
        let Ok(about) = fs::symlink_metadata(old(path)) else {
            continue;
        };
        if about.is_symlink() {
            symlink(fs::read_link(old(path))?, path)?;
        } else if about.is_dir() {
            show(path)?;
        }
    }
    for path in read_only {
        if !SYSTEM.iter().any(|folder| path.starts_with(folder)) {
            show(path)?;
        }
    }
    Ok(())
}

/// Shows a folder or file of the old root at its own place.
fn show(path: &Path) -> io::Result<()> {
    if fs::metadata(old(path))?.is_dir() {
        fs::create_dir_all(path)?;
    } else {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(path, "")?;
    }
    mount_bind_recursive(old(path), path)?;
    restrict(path, RDONLY | NOSUID | NODEV)
}

fn devices() -> io::Result<()> {
    fs::create_dir("/dev")?;
    for device in DEVICES.iter().map(Path::new) {
        fs::write(device, "")?;
        mount_bind(old(device), device)?;
        restrict(device, NOSUID | NOEXEC)?;
    }
    symlink("/proc/self/fd", "/dev/fd")?;
    for (number, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
        symlink(
            format!("/proc/self/fd/{number}"),
            Path::new("/dev").join(name),
        )?;
    }
    Ok(())
}

/// Folders in memory that go away with the run.
fn scratch(plan: &Plan) -> io::Result<()> {
    let options = format!(
        "size={},nr_inodes={},mode=1777",
        // Nothing would mean without end.
        plan.limits.disk.max(1),
        plan.limits.files.saturating_add(16)
    );
    let options = CString::new(options)?;
    let plain = MountFlags::NOSUID | MountFlags::NODEV;
    for folder in ["/tmp", "/dev/shm"] {
        fs::create_dir(folder)?;
        mount::<_, _, _, &CStr>("tmpfs", folder, "tmpfs", plain, &*options)?;
    }
    Ok(())
}

fn settings(network: Network) -> io::Result<()> {
    fs::create_dir("/etc")?;
    let user = format!("sandbox:x:{INSIDE_ID}:{INSIDE_ID}:sandbox:/workspace:/bin/sh\n");
    fs::write("/etc/passwd", user)?;
    fs::write("/etc/group", format!("sandbox:x:{INSIDE_ID}:\n"))?;
    fs::write("/etc/hosts", "127.0.0.1 localhost\n")?;
    for path in SETTINGS.iter().map(Path::new) {
        if old(path).exists() {
            show(path)?;
        }
    }
    if network == Network::Shared {
        NETWORK.iter().map(Path::new).try_for_each(resolving)?;
    }
    Ok(())
}

/// Shows a file of the old root even if it is a link there; what is missing is missing.
fn resolving(path: &Path) -> io::Result<()> {
    let mut found = old(path);
    // A link of the old root leads to its root and not to ours.
    for _ in 0..8 {
        let Ok(target) = fs::read_link(&found) else {
            break;
        };
        found = if target.is_absolute() {
            old(&target)
        } else {
            found.parent().unwrap_or(Path::new(OLD)).join(target)
        };
    }
    match fs::metadata(&found) {
        Ok(about) if about.is_dir() => show(path),
        Ok(_) => fs::write(path, fs::read(&found).unwrap_or_default()),
        Err(_) => Ok(()),
    }
}
