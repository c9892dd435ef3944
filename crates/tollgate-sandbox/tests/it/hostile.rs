//! Programs that try to get out. Each says `LEAK` when it did and `held` when it could not.
//!
//! Every one is also run as a bare child, where that does no harm, to show that it would
//! have worked: a probe that fails everywhere proves nothing.

use std::{
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    time::Duration,
};

use rustix::io::{FdFlags, fcntl_setfd};

use crate::support::{Scene, bare, has_python, is_root, secret};

/// As whom the bare child succeeds.
#[derive(Clone, Copy, PartialEq)]
enum Bare {
    /// As anybody.
    Anyone,
    /// As the superuser only.
    Root,
    /// It would do harm, so it is not tried.
    Never,
}

/// Which tiers have to hold it.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    /// All of them.
    Every,
    /// Those with namespaces.
    Namespaces,
}

/// Helpers every probe may use.
const PREFIX: &str = r#"
import ctypes, os, sys, stat, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    args = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    done = libc.syscall(ctypes.c_long(number), *args)
    return done, ctypes.get_errno()
def verdict(leaks):
    print('LEAK ' + str(leaks)[:200] if leaks else 'held', flush=True)
"#;

fn probe(code: &str, when: Bare, holds: Holds) {
    if !has_python() {
        return;
    }
    let code = format!("{PREFIX}{code}");
    let is_shown = when == Bare::Anyone || when == Bare::Root && is_root();
    if is_shown {
        let said = bare(&code);
        assert!(said.starts_with("LEAK"), "a bare child said: {said:?}");
    }
    for scene in Scene::all() {
        if holds == Holds::Namespaces && scene.is_fence() {
            continue;
        }
        let report = scene.python(&code);
        let (said, complained) = (report.stdout.text(), report.stderr.text());
        assert_eq!(said.trim(), "held", "{}: {complained}", scene.name);
    }
}

#[test]
fn passwords_cannot_be_read() {
    let code = r#"
leaks = []
for path in ['/etc/shadow', '/etc/gshadow', '/etc/sudoers']:
    try: leaks.append(open(path).read()[:1] and path)
    except OSError: pass
verdict(leaks)
"#;
    probe(code, Bare::Root, Holds::Every);
}

#[test]
fn other_files_cannot_be_read_or_written() {
    let (_folder, path) = secret();
    let code = format!(
        r#"
leaks = []
try: leaks.append(open({path:?}).read())
except OSError: pass
try: open({path:?}, 'a').close(); leaks.append('writable')
except OSError: pass
try: open({path:?} + '.new', 'w').close(); leaks.append('new file')
except OSError: pass
try: os.truncate({path:?}, 10); leaks.append('truncated')
except OSError: pass
verdict(leaks)
"#
    );
    probe(&code, Bare::Anyone, Holds::Every);
}

#[test]
fn the_system_cannot_be_written() {
    let code = r#"
leaks = []
for path in ['/usr/x', '/x', '/etc/x', '/usr/bin/x', '/dev/x', '/proc/x']:
    try:
        open(path, 'w').close(); leaks.append(path); os.unlink(path)
    except OSError: pass
verdict(leaks)
"#;
    probe(code, Bare::Root, Holds::Every);
}

#[test]
fn the_environment_of_the_host_is_not_there() {
    let code = "verdict([name for name in os.environ if name.startswith('CARGO')])";
    probe(code, Bare::Anyone, Holds::Every);
}

#[test]
fn other_processes_cannot_be_looked_at() {
    let code = r#"
leaks = []
try: pids = [int(name) for name in os.listdir('/proc') if name.isdigit()]
except OSError: pids = []
for pid in pids:
    for file in ['environ', 'maps', 'mem']:
        try: leaks.append(pid != os.getpid() and open(f'/proc/{pid}/{file}', 'rb').read(16))
        except OSError: pass
verdict([leak for leak in leaks if leak])
"#;
    probe(code, Bare::Anyone, Holds::Every);
}

#[test]
fn the_first_process_cannot_be_looked_at() {
    let code = r#"
leaks = []
for file in ['environ', 'maps', 'fd', 'root', 'cwd', 'exe']:
    path = f'/proc/{os.getppid()}/{file}'
    try:
        leaks.append(os.listdir(path) if os.path.isdir(path) else os.path.islink(path) and os.readlink(path) or open(path).read())
    except OSError: pass
verdict([leak for leak in leaks if leak])
"#;
    probe(code, Bare::Anyone, Holds::Every);
}

#[test]
fn nothing_can_be_connected_to() {
    let (folder, _) = secret();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    let path = folder.path().join("socket");
    let unix = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let name = format!("tollgate-probe-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let hidden = UnixListener::bind_addr(&address).unwrap();
    let code = format!(
        r#"
import socket
leaks = []
def attempt(what, family, kind, do):
    try:
        with socket.socket(family, kind) as s: do(s); leaks.append(what)
    except OSError: pass
attempt('tcp', socket.AF_INET, socket.SOCK_STREAM, lambda s: s.connect(('127.0.0.1', {tcp})))
attempt('udp', socket.AF_INET, socket.SOCK_DGRAM, lambda s: s.sendto(b'x', ('127.0.0.1', {udp})))
attempt('unix', socket.AF_UNIX, socket.SOCK_STREAM, lambda s: s.connect({path:?}))
attempt('abstract', socket.AF_UNIX, socket.SOCK_STREAM, lambda s: s.connect('\0{name}'))
attempt('netlink', socket.AF_NETLINK, socket.SOCK_RAW, lambda s: s.bind((0, 0)))
verdict(leaks)
"#,
        tcp = tcp.local_addr().unwrap().port(),
        udp = udp.local_addr().unwrap().port(),
    );
    probe(&code, Bare::Anyone, Holds::Every);
    drop((unix, hidden));
}

#[test]
fn the_parent_cannot_be_traced() {
    let code = r#"
leaks = []
PTRACE_SEIZE = 0x4206
done, _ = call(101, PTRACE_SEIZE, os.getppid(), 0, 0)
if done == 0: leaks.append('seized')
verdict(leaks)
"#;
    probe(code, Bare::Root, Holds::Every);
}

#[test]
fn other_memory_cannot_be_read() {
    // A child of its own, which a bare process may always read.
    let code = r#"
leaks = []
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.close(write); os.read(read, 1); os._exit(0)
class Piece(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
into = ctypes.create_string_buffer(8)
here, there = Piece(ctypes.addressof(into), 8), Piece(id(leaks), 8)
done, _ = call(310, child, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
if done > 0: leaks.append('read')
os.close(write); os.waitpid(child, 0)
verdict(leaks)
"#;
    probe(code, Bare::Root, Holds::Every);
}

#[test]
fn no_signal_reaches_the_outside() {
    // Inside, the parent is the guard, which is meant to be there; so the number is the host's.
    let code = format!(
        r#"
leaks = []
try: os.kill({}, 0); leaks.append('reached')
except OSError: pass
verdict(leaks)
"#,
        std::process::id()
    );
    probe(&code, Bare::Anyone, Holds::Every);
}

#[test]
fn settings_of_the_kernel_cannot_be_opened_for_writing() {
    let code = r#"
leaks = []
for path in ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sysrq-trigger',
             '/sys/kernel/uevent_helper', '/sys/kernel/mm/transparent_hugepage/enabled']:
    try: os.close(os.open(path, os.O_WRONLY)); leaks.append(path)
    except OSError: pass
verdict(leaks)
"#;
    probe(code, Bare::Root, Holds::Every);
}

#[test]
fn devices_can_be_neither_made_nor_opened() {
    let code = r#"
leaks = []
for kind, number in [(stat.S_IFCHR, (1, 5)), (stat.S_IFBLK, (7, 0))]:
    try: os.mknod('node', kind | 0o600, os.makedev(*number)); leaks.append(number); os.unlink('node')
    except OSError: pass
for path in ['/dev/kmsg', '/dev/mem', '/dev/vda', '/dev/sda', '/dev/kvm', '/dev/fuse', '/dev/net/tun']:
    try: os.close(os.open(path, os.O_RDONLY)); leaks.append(path)
    except OSError: pass
verdict(leaks)
"#;
    probe(code, Bare::Root, Holds::Every);
}

#[test]
fn no_file_lends_rights() {
    let code = r#"
leaks = []
def lends(path): return os.path.exists(path) and os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID)
open('a', 'w').close()
for change in [lambda: os.chmod('a', 0o4755), lambda: os.chmod('a', 0o2755),
               lambda: os.close(os.open('b', os.O_CREAT | os.O_WRONLY, 0o4755)),
               lambda: os.mknod('c', stat.S_IFREG | 0o4755)]:
    try: change()
    except OSError: pass
leaks += [path for path in 'abc' if lends(path)]
call(452, -100, b'a', 0o4755, 0)
leaks += [path for path in 'a' if lends(path)]
verdict(leaks)
"#;
    probe(code, Bare::Anyone, Holds::Every);
}

#[test]
fn nobody_becomes_somebody_else() {
    let code = r#"
import subprocess
leaks = []
for become in [lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.setreuid(0, 0)]:
    try: become(); leaks.append(os.getresuid())
    except OSError: pass
if os.geteuid() == 0: leaks.append('root')
with open('/proc/self/status') as status:
    for line in status:
        if line.startswith(('CapPrm', 'CapEff', 'CapAmb')) and int(line.split()[1], 16): leaks.append(line)
verdict(leaks)
"#;
    // Without a process table of its own there is no status to read.
    probe(code, Bare::Root, Holds::Namespaces);
}

#[test]
fn there_is_no_keyring() {
    let code = r#"
leaks = []
done, _ = call(248, b'user', b'tollgate-probe', b'x', 1, -2)
if done > 0: leaks.append('add_key')
done, _ = call(250, 0, -4, 1)
if done > 0: leaks.append('keyctl')
verdict(leaks)
"#;
    probe(code, Bare::Anyone, Holds::Every);
}

#[test]
fn there_is_no_io_uring() {
    let code = r#"
done, _ = call(425, 1, ctypes.create_string_buffer(120))
verdict(['ring'] if done >= 0 else [])
"#;
    probe(code, Bare::Anyone, Holds::Every);
}

#[test]
fn no_namespace_can_be_made() {
    let code = r#"
leaks = []
for flag in [0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000]:
    child = os.fork()
    if child == 0: os._exit(0 if libc.unshare(flag) == 0 else 1)
    if os.waitpid(child, 0)[1] == 0: leaks.append(('unshare', hex(flag)))
    done, _ = call(56, flag | 17, 0, 0, 0, 0)
    if done == 0: os._exit(0)
    if done > 0: os.waitpid(done, 0); leaks.append(('clone', hex(flag)))
class Args(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ('flags', 'pidfd', 'child', 'parent', 'signal', 'stack', 'size', 'tls')]
done, why = call(435, ctypes.byref(Args(flags=0x10000000, signal=17)), ctypes.sizeof(Args))
if done == 0: os._exit(0)
if done > 0: leaks.append('clone3')
elif why != errno.ENOSYS: leaks.append(('clone3 does not say that it is missing', why))
verdict(leaks)
"#;
    probe(code, Bare::Anyone, Holds::Every);
}

/// Every call that has no business in a sandbox answers that it is forbidden or missing.
#[test]
fn calls_of_the_superuser_are_refused() {
    let code = r#"
leaks = []
for name, number in [('init_module', 175), ('finit_module', 313), ('delete_module', 176), ('bpf', 321),
                     ('perf_event_open', 298), ('kexec_load', 246), ('mount', 165), ('umount2', 166),
                     ('pivot_root', 155), ('chroot', 161), ('setns', 308), ('swapon', 167),
                     ('open_by_handle_at', 304), ('userfaultfd', 323), ('quotactl', 179), ('acct', 163),
                     ('fanotify_init', 300), ('move_mount', 429), ('fsopen', 430), ('open_tree', 428)]:
    # None of these arguments make sense, so nothing happens even where it is allowed.
    done, why = call(number, -1, -1, -1, -1, -1)
    if done >= 0 or why not in (errno.EPERM, errno.ENOSYS): leaks.append((name, why))
verdict(leaks)
"#;
    probe(code, Bare::Root, Holds::Every);
}

#[test]
fn the_name_of_the_host_cannot_be_changed() {
    let code = r#"
import socket
name = socket.gethostname().encode()
done = libc.sethostname(name, len(name))
verdict(['host name'] if done == 0 else [])
"#;
    probe(code, Bare::Root, Holds::Every);
}

#[test]
fn the_clock_cannot_be_changed() {
    let code = r#"
leaks = []
class Time(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('nanos', ctypes.c_long)]
now = Time(); libc.clock_gettime(0, ctypes.byref(now))
if libc.clock_settime(0, ctypes.byref(now)) == 0: leaks.append('clock_settime')
if libc.settimeofday(ctypes.byref(Time(now.seconds, 0)), None) == 0: leaks.append('settimeofday')
verdict(leaks)
"#;
    probe(code, Bare::Never, Holds::Every);
}

#[test]
fn descriptors_are_not_inherited() {
    let (_folder, path) = secret();
    let file = std::fs::File::open(&path).unwrap();
    fcntl_setfd(&file, FdFlags::empty()).unwrap();
    let code = r#"
leaks = []
for fd in range(3, 256):
    try: leaks.append((fd, os.pread(fd, 16, 0)))
    except OSError: pass
verdict([leak for leak in leaks if leak[1] == b'the secret'])
"#;
    probe(code, Bare::Anyone, Holds::Every);
    drop(file);
}

#[test]
fn descriptors_of_others_cannot_be_fetched() {
    // Of a child of its own, which a bare process may always ask.
    let code = r#"
leaks = []
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.close(write); os.read(read, 1); os._exit(0)
pid, _ = call(434, child, 0)
done, _ = call(438, pid, read, 0)
if done >= 0: leaks.append('fetched')
os.close(write); os.waitpid(child, 0)
verdict(leaks)
"#;
    probe(code, Bare::Root, Holds::Every);
}

/// Memory of the host that anybody may read and write, found by its key, until it is dropped.
struct Segment(i32);

impl Segment {
    fn new() -> Self {
        let key = 0x7011_0000 | i32::try_from(std::process::id() & 0xffff).unwrap();
        let code = format!("{PREFIX}{SHARED}\nlibc.shmget({key}, 4096, 0o1666)");
        bare(&code);
        Self(key)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let key = self.0;
        let code = format!("{PREFIX}{SHARED}\nlibc.shmctl(libc.shmget({key}, 0, 0), 0, None)");
        bare(&code);
    }
}

const SHARED: &str = "libc.shmat.restype = ctypes.c_void_p";

#[test]
fn memory_of_the_host_cannot_be_had_by_its_key() {
    if !has_python() {
        return;
    }
    let segment = Segment::new();
    let code = format!(
        r#"
{SHARED}
leaks = []
found = libc.shmget({}, 0, 0)
if found >= 0: leaks.append('found')
if found >= 0 and libc.shmat(found, None, 0) not in (None, 2**64 - 1): leaks.append('attached')
verdict(leaks)
"#,
        segment.0
    );
    probe(&code, Bare::Anyone, Holds::Every);
}

#[test]
fn landlock_holds_inside_the_namespaces_too() {
    // The mounts would let it through: the file is the process's own.
    let code = r#"
leaks = []
try: open('/proc/self/comm', 'w').write('other'); leaks.append('written')
except PermissionError as error: leaks += [error] if error.errno != errno.EACCES else []
verdict(leaks)
"#;
    probe(code, Bare::Anyone, Holds::Namespaces);
}

#[test]
fn links_lead_nowhere() {
    let (_folder, path) = secret();
    let code = format!(
        r#"
leaks = []
os.symlink({path:?}, 'link')
try: leaks.append(open('link').read())
except OSError: pass
for source in [{path:?}, '/usr/bin/env']:
    try: os.link(source, 'hard'); leaks.append('hard link'); os.unlink('hard')
    except OSError: pass
for up in ['..', '../..', '../../../../../..']:
    try: leaks.append(open(os.path.join(up, {path:?}.lstrip('/'))).read())
    except OSError: pass
verdict(leaks)
"#
    );
    probe(&code, Bare::Anyone, Holds::Every);
}

#[test]
fn a_second_set_of_numbers_for_the_same_calls_is_fatal() {
    if !has_python() || !cfg!(target_arch = "x86_64") {
        return;
    }
    let scene = Scene::native();
    let code = format!(
        "{PREFIX}\nprint('before', flush=True); call(0x40000000 + 41, 1, 1, 0); print('after')"
    );
    let report = scene.python(&code);
    assert_eq!(report.stdout.text().trim(), "before");
    assert_eq!(report.ended, tollgate_sandbox::Ended::Signal(31));
}
