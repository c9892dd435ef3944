//! Whom a program can speak to: nobody, or whomever it was granted.

use tollgate_sandbox::{Gap, Job, Network, Stop};

use crate::support::{PYTHON, Scene, has_python};

#[test]
fn the_network_is_there_only_if_it_was_granted() {
    if !has_python() {
        return;
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let code = format!(
        r#"
import socket
def attempt(what, family, kind, do):
    try:
        with socket.socket(family, kind) as s: do(s); print(what)
    except OSError: pass
attempt('call', socket.AF_INET, socket.SOCK_STREAM, lambda s: s.connect(('127.0.0.1', {port})))
attempt('udp', socket.AF_INET, socket.SOCK_DGRAM, lambda s: s.sendto(b'x', ('127.0.0.1', {port})))
attempt('name', socket.AF_INET, socket.SOCK_STREAM, lambda s: s.connect(('localhost', {port})))
attempt('serve', socket.AF_INET, socket.SOCK_STREAM, lambda s: (s.bind(('127.0.0.1', 0)), s.listen()))
attempt('unix', socket.AF_UNIX, socket.SOCK_STREAM, lambda s: s.connect('\0nobody'))
attempt('netlink', socket.AF_NETLINK, socket.SOCK_RAW, lambda s: s.bind((0, 0)))
"#
    );
    for scene in Scene::all() {
        for (network, expected) in [(Network::None, ""), (Network::Shared, "call\nudp\nname\n")] {
            let job = Job {
                network,
                ..Job::new(PYTHON).args(["-c", &code])
            };
            let stop = Stop::new().unwrap();
            let report = scene.runner.run(&job, &scene.workspace(), &stop).unwrap();
            assert_eq!(report.stdout.text(), expected, "{} {report:?}", scene.name);
            let is_shared = report.gaps.contains(&Gap::NetworkShared);
            assert_eq!(is_shared, network == Network::Shared, "{}", scene.name);
        }
    }
}
