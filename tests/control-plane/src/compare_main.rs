//! Compares the world with a real API server: `compare FILE…` plays your own scenarios, `compare` those of this folder.

use clap::Parser;
use control_plane::compare::{
    known,
    private::on_private_servers,
    real::Real,
    run::{self, Cast, Outcome},
    scenario,
};
use std::{error::Error, path::PathBuf, process::ExitCode, sync::Arc};

/// Plays scenarios on the world and on a real Kubernetes API server, and prints every field that differs.
#[derive(Debug, Parser)]
struct Options {
    /// Files of scenarios; without any, all that belong to this crate.
    files: Vec<PathBuf>,
    /// An API server that runs already, without controllers (but with a scheduler, if there are placements); it fills
    /// up with namespaces. Without one, a private control plane is started.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
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
    let cast = Cast { files: &files, known: &known, repository: &folder.join("../..") };
    let mut outcome = Outcome::default();
    match options.kubeconfig {
        Some(kubeconfig) => {
            let real = Arc::new(Real::of(&kubeconfig).await?);
            cast.play(real.clone(), &mut outcome).await?;
            cast.place(real.as_ref(), &mut outcome).await?;
        }
        None => {
            on_private_servers(&std::env::current_exe()?.with_file_name("control-plane"), &cast, &mut outcome).await?
        }
    }
    let unknown: Vec<_> = outcome.unknown(&known).collect();
    for found in &unknown {
        println!("{}", run::shown(found));
    }
    println!("{}", outcome.table.markdown());
    println!("{} differences that are in no list", unknown.len());
    Ok(if unknown.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
