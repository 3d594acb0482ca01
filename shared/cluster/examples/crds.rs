//! Writes the custom resource definitions into `infra/crds/`, or into the folder that is named. Run by `make verify`.

use cluster::crd;
use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let folder =
        env::args().nth(1).unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../infra/crds").to_owned());
    let folder = Path::new(&folder);
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    for definition in crd::all() {
        let spec = &definition.spec;
        let file = format!("{}_{}.yaml", spec.group, spec.names.plural);
        fs::write(folder.join(file), crd::to_yaml(&definition)?)?;
    }
    Ok(())
}
