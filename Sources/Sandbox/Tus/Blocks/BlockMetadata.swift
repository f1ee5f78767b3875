import Foundation
import GRDB

/// The metadata of a creation that PHP reads; everything else is dropped (gighive-d4 contract 4.6).
struct BlockMetadata: Sendable {
    var kind: MediaKind
    var mimeType: String
    /// `YYYY-MM-DD`; nil when it was missing or malformed.
    var eventDate: String?
    var orgName: String?
    var eventType: String
    var label: String

    init(_ metadata: TusMetadata) throws(BlockTusError) {
        func text(_ key: String) -> String? {
            let text = metadata[key]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
            return text.isEmpty ? nil : text
        }
        let name = text("filename") ?? ""
        let fileExtension = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        let type = text("filetype")?.lowercased()
        if let type, !Self.allowedTypes.contains(type) { throw .unsupportedType }
        let kinds: [MediaKind?] = [MediaKind(fileExtension: fileExtension), type.flatMap { MediaKind(mimeType: $0) }]
        // Video wins where name and type disagree.
        guard let kind = kinds.contains(.video) ? .video : kinds.compactMap({ $0 }).first else { throw .noMedia }
        self.kind = kind
        mimeType = type ?? "\(kind.rawValue)/\(fileExtension)"
        eventDate = text("event_date").flatMap { $0.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) == nil ? nil : $0 }
        orgName = text("org_name")
        eventType = text("event_type") ?? "band"
        label = text("label") ?? "Untitled clip"
    }

    init(_ row: Row) {
        kind = MediaKind(rawValue: row["kind"]) ?? .video
        mimeType = row["mime_type"]
        eventDate = row["event_date"]
        orgName = row["org_name"]
        eventType = row["event_type"]
        label = row["label"]
    }

    /// The default list of a site (gighive contract 2.4).
    private static let allowedTypes = Set(
        [
            ("audio", "mpeg mp3 wav x-wav aac flac mp4 aiff x-aiff ogg vorbis basic x-au au mp2 mpeg2 x-ms-wma"),
            ("audio", "vnd.rn-realaudio x-pn-realaudio"),
            ("video", "mp4 quicktime x-matroska webm x-msvideo mpeg mp2t ogg x-flv mxf vnd.rn-realvideo"),
            ("video", "x-ms-wmv x-ms-asf"), ("application", "ogg mxf vnd.rn-realmedia vnd.ms-asf"),
        ]
        .flatMap { family, names in names.split(separator: " ").map { "\(family)/\($0)" } }
    )

    /// The extension under which the file is stored: from the type, never from the name.
    var fileExtension: String {
        switch mimeType {
        case "audio/mpeg", "audio/mp3": "mp3"
        case "audio/wav", "audio/x-wav": "wav"
        case "audio/aac": "aac"
        case "audio/ogg": "ogg"
        case "video/mp4": "mp4"
        case "video/quicktime": "mov"
        case "video/webm": "webm"
        case "video/x-msvideo": "avi"
        default: "bin"
        }
    }

    /// Whether the row of the upload can be written (gighive-d4 contract 4.1).
    var fitsColumns: Bool {
        eventDate.map(UploadFields.isCalendarDate) ?? true && label.unicodeScalars.count <= 255
            && orgName?.unicodeScalars.count ?? 0 <= 255 && eventType.unicodeScalars.count <= 64
    }

    /// The event to which the file is linked at the last PATCH; nil unless organization and date were both given.
    func eventFields() throws(UploadFields.Refusal) -> UploadFields? {
        guard let eventDate, let orgName else { return nil }
        return try UploadFields(
            ["event_date": eventDate, "org_name": orgName, "event_type": eventType, "label": label],
            dialect: .d4,
            today: eventDate
        )
    }
}
