//! Content by name, as objects: files of a folder today, a bucket by configuration later.

use std::{path::PathBuf, sync::OnceLock};

use async_trait::async_trait;
use object_store::{
    GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutPayload, local::LocalFileSystem,
    path::Path as Name,
};
use tollgate_core::store::{Blobs, StoreError};

use crate::error::io_error;

/// Content in the files of a folder, which is made when the first of it is kept.
#[derive(Debug)]
pub struct FolderBlobs {
    folder: PathBuf,
    files: OnceLock<LocalFileSystem>,
}

impl FolderBlobs {
    /// Content in this folder.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            files: OnceLock::new(),
        }
    }

    /// The files of the folder; the folder is closed to other users.
    fn files(&self) -> Result<&LocalFileSystem, StoreError> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder).map_err(io_error)?;
        let files = LocalFileSystem::new_with_prefix(&self.folder).map_err(store_error)?;
        Ok(self.files.get_or_init(|| files))
    }
}

#[async_trait]
impl Blobs for FolderBlobs {
    async fn put(&self, name: &str, content: Vec<u8>) -> Result<(), StoreError> {
        let put = self
            .files()?
            .put(&Name::from(name), PutPayload::from(content))
            .await;
        put.map(|_| ()).map_err(store_error)
    }

    async fn part(&self, name: &str, from: u64, bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let name = Name::from(name);
        let size = match self.files()?.head(&name).await {
            Ok(about) => about.size,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(store_error(error)),
        };
        let end = from.saturating_add(bytes).min(size);
        if from >= end {
            return Ok(Some(Vec::new()));
        }
        let options = GetOptions {
            range: Some(GetRange::Bounded(from..end)),
            ..GetOptions::default()
        };
        let found = self
            .files()?
            .get_opts(&name, options)
            .await
            .map_err(store_error)?;
        let bytes = found.bytes().await.map_err(store_error)?;
        Ok(Some(bytes.to_vec()))
    }

    async fn remove(&self, name: &str) -> Result<(), StoreError> {
        match self.files()?.delete(&Name::from(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(store_error(error)),
        }
    }
}

/// A full disk is told apart, because there is something to be done about it.
fn store_error(error: object_store::Error) -> StoreError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(current) = cause {
        if let Some(error) = current.downcast_ref::<std::io::Error>() {
            let copy = match error.raw_os_error() {
                Some(code) => std::io::Error::from_raw_os_error(code),
                None => std::io::Error::new(error.kind(), error.to_string()),
            };
            return io_error(copy);
        }
        cause = current.source();
    }
    StoreError::Failed(Box::new(error))
}
