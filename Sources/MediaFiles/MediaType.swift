/// Media types of files: by extension, with the content as second opinion (gighive contract 2.4, trap T5).
public struct MediaType: Sendable, Equatable {
    /// Kind of media.
    public enum Kind: String, Sendable {
        /// Sound only.
        case audio
        /// Moving pictures.
        case video
        /// Anything else.
        case other
    }

    /// For example `video/mp4`.
    public var mimeType: String
    /// What it is.
    public var kind: Kind

    /// The type that an extension stands for; nil when unknown. Case does not matter, the dot is not part of it.
    public static func named(byExtension pathExtension: String) -> MediaType? { nil }

    /// The type that the first bytes show; nil when they show none.
    ///
    /// - Parameter prefix: The first bytes of the file; 4 KiB are enough.
    public static func sniffed(_ prefix: [UInt8]) -> MediaType? { nil }

    /// The type to declare for a file: the extension's, and where the extension is unknown or says less, the content's.
    public static func declared(fileName: String, prefix: [UInt8]) -> MediaType? { nil }
}
