internal import MediaStore

/// Where a photo comes from, as seen from here.
struct PhotoOrigin: Sendable {
    /// `this`, `other` or `legacy`.
    var name: String
    /// For people. May hold control characters.
    var words: String

    init(_ photo: PhotoRecord, device: String?) {
        guard let origin = photo.originDevice else {
            (name, words) = ("legacy", "no device")
            return
        }
        let isThis = origin.id == device
        name = isThis ? "this" : "other"
        words = isThis ? "this device" : origin.name
    }
}
