//! Building programs with the machine's Go. The sources come from the Go module proxy; ours is only what pins them.

use std::{
    fs,
    io::{self, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::versions::Module;

/// A line of progress in a log that nobody watches need not come more often.
const LINE_EVERY: Duration = Duration::from_secs(20);

#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("go cannot be started: {0}. Install Go 1.26 or newer")]
    NoGo(io::Error),
    #[error("go build in {} ended with {status}:\n{said}", folder.display())]
    Go { folder: PathBuf, status: std::process::ExitStatus, said: String },
    #[error("cannot keep what was built: {0}")]
    Keep(io::Error),
}

/// What is built depends on nothing but these: another go.sum is another folder of the cache.
pub fn fingerprint(module: &Module) -> String {
    let texts = ["go.mod", "go.sum", "main.go"].map(|name| fs::read(source(module).join(name)).unwrap_or_default());
    // FNV-1a: no attacker here, only a name that changes with the content.
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let bytes = texts.iter().flatten().chain(module.linker.as_bytes());
    let hash = bytes.fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{}-{hash:016x}", module.folder)
}

/// Leaves the programs in `into`, or nothing.
pub fn build(module: &Module, into: &Path) -> Result<(), Failed> {
    let (folder, fresh) = (source(module), into.join("building"));
    fs::create_dir_all(&fresh).map_err(Failed::Keep)?;
    let names = module.programs.join(", ");
    eprintln!("control plane: building {names} from the Go module proxy (minutes the first time, then kept) ...");
    let mut command = Command::new("go");
    command.args(["build", "-v", "-trimpath", "-ldflags", module.linker, "-o"]);
    command.arg(format!("{}/", fresh.display())).arg(module.package).current_dir(&folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Failed::NoGo)?;
    let said = child.stderr.take().map(|errors| show_progress(BufReader::new(errors))).unwrap_or_default();
    let status = child.wait().map_err(Failed::NoGo)?;
    if !status.success() {
        return Err(Failed::Go { folder, status, said });
    }
    for program in module.programs {
        fs::rename(fresh.join(program), into.join(program)).map_err(Failed::Keep)?;
    }
    fs::remove_dir_all(&fresh).map_err(Failed::Keep)
}

/// Go names each package that it compiles. Gives back the last lines, which tell why if it failed.
fn show_progress(lines: impl io::BufRead) -> String {
    let (begin, mut shown, mut last) = (Instant::now(), Instant::now(), Vec::new());
    let mut packages = 0;
    for line in lines.lines().map_while(Result::ok) {
        packages += 1;
        if shown.elapsed() >= LINE_EVERY {
            shown = Instant::now();
            eprintln!("control plane: {packages} packages after {} s, now {line}", begin.elapsed().as_secs());
            // A progress line that cannot be written is nobody's problem.
            let _ = io::stderr().flush();
        }
        last.push(line);
        if last.len() > 30 {
            last.remove(0);
        }
    }
    eprintln!("control plane: {packages} packages in {} s", begin.elapsed().as_secs());
    last.join("\n")
}

fn source(module: &Module) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("go").join(module.folder)
}
