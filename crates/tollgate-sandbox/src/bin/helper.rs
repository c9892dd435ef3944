//! The process that builds a sandbox around itself, for those who are not `tollgate`.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = tollgate_sandbox::helper() {
        return code;
    }
    ExitCode::from(2)
}
