internal import MediaStore

/// A photo that is going to be fetched, with the name that it has been given.
struct PlannedDownload: Sendable {
    let photo: PhotoRecord
    var place: DownloadPlace
    /// As the library has it.
    var copy: PhotoCopy
    /// What an earlier run left under a name that cannot be used any more.
    var abandoned: String?

    var temporaryName: String { copy.temporaryName ?? "" }
}
