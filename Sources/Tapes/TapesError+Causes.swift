internal import MediaStore

extension TapesError {
    /// The local store cannot be used.
    init(_ error: StoreError) {
        self.init(.storeUnusable, detail: error.description, path: Array(error.path.utf8), underlying: error)
    }
}
