//! Compares the world with a real API server: `compare FILE…` plays your own scenarios, `compare` those of this folder.

use clap::Parser;
use control_plane::compare::{known, real::Real, run, scenario};
use std::{error::Error, path::PathBuf, process::ExitCode, sync::Arc};

/// Plays scenarios on the world and on a real Kubernetes API server, and prints every field that differs.
#[derive(Debug, Parser)]
struct Options {
    /// Files of scenarios; without any, all that belong to this crate.
    files: Vec<PathBuf>,
    /// An API server that runs already, such as https://127.0.0.1:6443; it fills up with namespaces.
    #[arg(long, requires = "token", requires = "authority")]
    server: Option<String>,
    /// A bearer token of somebody who may do everything there.
    #[arg(long)]
    token: Option<String>,
    /// The certificate authority of that server, a PEM file.
    #[arg(long)]
    authority: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(compare(options)),
        Err(error) => Err(error.into()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("compare: {error}");
        ExitCode::FAILURE
    })
}

async fn compare(options: Options) -> Result<ExitCode, Box<dyn Error>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let scenarios = folder.join("scenarios");
    let files = match options.files.as_slice() {
        [] => scenario::read_all(&scenarios)?,
        files => files.iter().map(|file| scenario::read(file)).collect::<Result<_, _>>()?,
    };
    let known = known::read(&scenarios)?;
    let authority = std::fs::read(options.authority.unwrap_or_default())?;
    let real = Real::new(&options.server.unwrap_or_default(), &options.token.unwrap_or_default(), &authority)?;
    let repository = folder.join("../..");
    let name = format!("{:x}", jiff::Timestamp::now().as_second() % 0xf_ffff);
    let outcome = run::run(&files, Arc::new(real), &known, &repository, &name).await?;
    let unknown: Vec<_> = outcome.unknown(&known).collect();
    for found in &unknown {
        println!("{}", run::shown(found));
    }
    println!("{}", outcome.table.markdown());
    println!("{} differences that are in no list", unknown.len());
    Ok(if unknown.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
