import NIOCore

/// A received photo with what the form says about it.
struct PhotoUpload {
    var file: IncomingFile
    /// Lower-case hex.
    var hash: String
    /// The name of the form's file part.
    var partName: String
    /// The name that is shown.
    var originalName: String
    var deviceID: String?
    var takenAt: GoTime
    var pixels: ImageFacts.Size?

    /// Nil when the form has no file.
    init?(_ form: PhotoForm) {
        guard let part = form.file, let digest = part.content.finishDigest() else { return nil }
        file = part.content
        hash = hexString(digest)
        partName = part.name
        let name = form.fields["originalFilename"] ?? ""
        originalName = PhotoName.sanitised(name.isEmpty ? part.name : name)
        deviceID = form.fields["deviceId"].flatMap { $0.isEmpty ? nil : $0 }
        let facts = ImageFacts(fileAt: part.content.path)
        pixels = facts.size
        let date = form.fields["dateTaken"] ?? ""
        // A date that cannot be read is no error: the photo is dated now, even when the file knows better.
        takenAt = (date.isEmpty ? facts.takenAt : GoTime(date)) ?? .now()
    }
}
