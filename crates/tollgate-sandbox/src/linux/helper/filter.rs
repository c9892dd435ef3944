//! System calls a program in a sandbox does not get.
//!
//! Invariant: no namespace, no socket unless it was granted, no other process's memory, no kernel interface that
//! grows faster than it is audited, no memory or queue that others have by a name unless those
//! names are its own, and no file that lends its owner's rights to whoever runs it.

use std::{collections::BTreeMap, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::{
    job::Network,
    linux::plan::{Plan, Shape},
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Installs the filters; from here on they hold for this process and all it starts.
pub(super) fn apply(plan: &Plan) -> io::Result<()> {
    let mut forbidden = forbidden(plan.network)?;
    if plan.shape == Shape::Fence {
        // Without a namespace of its own these names are those of the whole host.
        forbidden.extend(shared().into_iter().map(|call| (call, Vec::new())));
    }
    let mut programs = vec![
        compile(absent(), libc::ENOSYS)?,
        compile(forbidden, libc::EPERM)?,
    ];
    if !plan.is_disk_held {
        // Who reserves space takes more of it in a moment than anybody could notice in time;
        // told that this file system cannot do it, programs write instead.
        let reserving = Rules::from([(libc::SYS_fallocate, Vec::new())]);
        programs.push(compile(reserving, libc::EOPNOTSUPP)?);
    }
    for program in &programs {
        apply_filter(program).map_err(io::Error::other)?;
    }
    if let Some(program) = other_numbers() {
        apply_filter(&program).map_err(io::Error::other)?;
    }
    Ok(())
}

fn compile(rules: Rules, errno: i32) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    let filter = filter.map_err(io::Error::other)?;
    BpfProgram::try_from(filter).map_err(io::Error::other)
}

/// Calls that programs do without if the kernel does not have them.
fn absent() -> Rules {
    let calls = [
        // Its flags are behind a pointer, where no filter can look.
        libc::SYS_clone3,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_io_uring_setup,
        libc::SYS_memfd_secret,
        libc::SYS_openat2,
    ];
    calls.into_iter().map(|call| (call, Vec::new())).collect()
}

/// Calls nobody in a sandbox needs, and forms of others that lead out of it.
fn forbidden(network: Network) -> io::Result<Rules> {
    let mut rules: Rules = calls().into_iter().map(|call| (call, Vec::new())).collect();
    if network == Network::Shared {
        // Addresses of the internet and no others; it calls and is not called.
        let internet = [libc::AF_INET, libc::AF_INET6].map(|it| u64::from(it.unsigned_abs()));
        let other = SeccompRule::new(vec![
            condition(0, Op::Ne, internet[0])?,
            condition(0, Op::Ne, internet[1])?,
        ]);
        rules.insert(libc::SYS_socket, vec![other.map_err(io::Error::other)?]);
        rules.insert(libc::SYS_listen, Vec::new());
    }
    let namespaces = [
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWUTS,
    ];
    let namespaces = namespaces.map(|flag| u64::from(flag.unsigned_abs()));
    rules.insert(libc::SYS_clone, any_bit(0, &namespaces)?);
    // A pair of connected ends leads nowhere; anything else begins with `socket`.
    let family = u64::from(libc::AF_UNIX.unsigned_abs());
    rules.insert(libc::SYS_socketpair, vec![one(0, Op::Ne, family)?]);
    let injecting = [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD];
    let injecting = injecting.map(|request| one(1, Op::Eq, request));
    rules.insert(
        libc::SYS_ioctl,
        injecting.into_iter().collect::<Result<_, _>>()?,
    );
    // Only the personality everybody has, and the question which one it is.
    let other = SeccompRule::new(vec![
        condition(0, Op::Ne, 0)?,
        condition(0, Op::Ne, 0xffff_ffff)?,
    ]);
    rules.insert(
        libc::SYS_personality,
        vec![other.map_err(io::Error::other)?],
    );
    let lending = [libc::S_ISUID, libc::S_ISGID].map(u64::from);
    for (call, flags, mode) in creations() {
        let create = u64::from(libc::O_CREAT.unsigned_abs());
        let both = lending.map(|bit| {
            // Without that flag the mode is whatever the caller left behind.
            let conditions = vec![
                condition(flags, Op::MaskedEq(create), create)?,
                condition(mode, Op::MaskedEq(bit), bit)?,
            ];
            SeccompRule::new(conditions).map_err(io::Error::other)
        });
        rules.insert(call, both.into_iter().collect::<io::Result<_>>()?);
    }
    for (call, mode) in modes() {
        let mut refused = any_bit(mode, &lending)?;
        if makes_nodes(call) {
            refused.push(one(mode, Op::MaskedEq(S_IFMT), u64::from(libc::S_IFCHR))?);
            refused.push(one(mode, Op::MaskedEq(S_IFMT), u64::from(libc::S_IFBLK))?);
        }
        rules.insert(call, refused);
    }
    Ok(rules)
}

const S_IFMT: u64 = libc::S_IFMT as u64;
/// Newer than the table of constants.
const SYS_FCHMODAT2: i64 = 452;

/// Calls that set the mode of a file, and which argument holds it.
fn modes() -> Vec<(i64, u8)> {
    let mut modes = vec![
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (SYS_FCHMODAT2, 2),
        (libc::SYS_mknodat, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    modes.extend([
        (libc::SYS_chmod, 1),
        (libc::SYS_creat, 1),
        (libc::SYS_mknod, 1),
    ]);
    modes
}

/// Calls that may make a file, and which arguments hold its flags and its mode.
fn creations() -> Vec<(i64, u8, u8)> {
    let mut creations = vec![(libc::SYS_openat, 2, 3)];
    #[cfg(target_arch = "x86_64")]
    creations.push((libc::SYS_open, 1, 2));
    creations
}

fn makes_nodes(call: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if call == libc::SYS_mknod {
        return true;
    }
    call == libc::SYS_mknodat
}

fn calls() -> Vec<i64> {
    let mut calls = vec![
        libc::SYS_acct,
        libc::SYS_add_key,
        libc::SYS_adjtimex,
        libc::SYS_bpf,
        libc::SYS_chroot,
        libc::SYS_clock_adjtime,
        libc::SYS_clock_settime,
        libc::SYS_delete_module,
        libc::SYS_fanotify_init,
        libc::SYS_finit_module,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fsopen,
        libc::SYS_fspick,
        libc::SYS_init_module,
        libc::SYS_kcmp,
        libc::SYS_kexec_file_load,
        libc::SYS_kexec_load,
        libc::SYS_keyctl,
        libc::SYS_mbind,
        libc::SYS_migrate_pages,
        libc::SYS_mount,
        libc::SYS_mount_setattr,
        libc::SYS_move_mount,
        libc::SYS_move_pages,
        libc::SYS_name_to_handle_at,
        libc::SYS_open_by_handle_at,
        libc::SYS_open_tree,
        libc::SYS_perf_event_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_pivot_root,
        libc::SYS_process_madvise,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_ptrace,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_reboot,
        libc::SYS_request_key,
        libc::SYS_set_mempolicy,
        libc::SYS_setdomainname,
        libc::SYS_sethostname,
        libc::SYS_setns,
        libc::SYS_settimeofday,
        libc::SYS_socket,
        libc::SYS_swapoff,
        libc::SYS_swapon,
        libc::SYS_syslog,
        libc::SYS_umount2,
        libc::SYS_unshare,
        libc::SYS_userfaultfd,
        libc::SYS_vhangup,
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        libc::SYS__sysctl,
        libc::SYS_ioperm,
        libc::SYS_iopl,
        libc::SYS_modify_ldt,
        libc::SYS_sysfs,
        libc::SYS_uselib,
        libc::SYS_ustat,
    ]);
    calls
}

/// Memory, messages, semaphores and queues that are found by a key or a name.
fn shared() -> [i64; 15] {
    [
        libc::SYS_mq_getsetattr,
        libc::SYS_mq_notify,
        libc::SYS_mq_open,
        libc::SYS_mq_unlink,
        libc::SYS_msgctl,
        libc::SYS_msgget,
        libc::SYS_msgrcv,
        libc::SYS_msgsnd,
        libc::SYS_semctl,
        libc::SYS_semget,
        libc::SYS_semop,
        libc::SYS_semtimedop,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_shmget,
    ]
}

/// On x86-64 the same kernel answers a second set of numbers for the same calls.
#[cfg(target_arch = "x86_64")]
fn other_numbers() -> Option<BpfProgram> {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const FIRST_OTHER: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    Some(vec![
        step(LOAD_NUMBER, 0, 0, 0),
        step(JUMP_IF_AT_LEAST, 0, 1, FIRST_OTHER),
        step(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn other_numbers() -> Option<BpfProgram> {
    None
}

fn condition(argument: u8, op: Op, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, Len::Dword, op, value).map_err(io::Error::other)
}

fn one(argument: u8, op: Op, value: u64) -> io::Result<SeccompRule> {
    SeccompRule::new(vec![condition(argument, op, value)?]).map_err(io::Error::other)
}

/// A rule for each bit; any of them is enough.
fn any_bit(argument: u8, bits: &[u64]) -> io::Result<Vec<SeccompRule>> {
    let rule = |bit: &u64| one(argument, Op::MaskedEq(*bit), *bit);
    bits.iter().map(rule).collect()
}
