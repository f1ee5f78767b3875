internal import Foundation
internal import MediaCore
public import MediaStore
internal import Synchronization

/// The details of a file that are sent with its bytes (gighive contract 2.1). A value created by
/// `UploadDetails.validated` contains nothing that the server would refuse only after the whole body.
public struct UploadDetails: Sendable, Equatable {
    /// `YYYY-MM-DD`, a real calendar date.
    public var eventDate: String
    /// With the date, the key of the event; at most 128 Unicode scalars.
    public var orgName: String
    /// `band`, `wedding` or `other`.
    public var eventType: String
    /// Title; 1 to 255 Unicode scalars after trimming and NFC.
    public var label: String
    /// Comma-separated names.
    public var participants: String?
    /// Comma-separated keywords.
    public var keywords: String?
    /// Place of the event.
    public var location: String?
    /// Whole number from 0 to 9.
    public var rating: String?
    /// Free text.
    public var notes: String?

    /// Validates and normalizes: trims, composes (NFC), and omits blank values (trap T6).
    ///
    /// Lengths are counted in Unicode scalars, as in the server's database (trap T7). Control characters (C0, DEL, C1)
    /// are refused; only `notes` may contain line breaks and tabs. Blank values consist of whitespace (Unicode's
    /// `White_Space`) and zero-width characters.
    ///
    /// - Throws: `GigHiveError` with code `.invalidDetail`, the field, the value and the rule.
    public static func validated(
        eventDate: String,
        orgName: String,
        eventType: String = "band",
        label: String,
        participants: String? = nil,
        keywords: String? = nil,
        location: String? = nil,
        rating: String? = nil,
        notes: String? = nil
    ) throws(GigHiveError) -> UploadDetails {
        UploadDetails(
            eventDate: try DetailRule("event_date").date(eventDate),
            orgName: try DetailRule("org_name").required(orgName, limit: 128),
            eventType: try DetailRule("event_type").choice(eventType, of: ["band", "wedding", "other"]),
            label: try DetailRule("label").required(label, limit: 255),
            participants: try DetailRule("participants").names(participants, limit: 255),
            keywords: try DetailRule("keywords").optional(keywords),
            location: try DetailRule("location").limited(location, limit: 255),
            rating: try DetailRule("rating").rating(rating),
            notes: try DetailRule("notes", allowsLineBreaks: true).optional(notes)
        )
    }

    /// These details for a guest's upload: the event's fields are the server's, and the label is limited to 255 UTF-8
    /// bytes (gighive contract section 6).
    ///
    /// - Throws: `GigHiveError` with code `.invalidDetail` for a longer label.
    public func forGuest(of event: GuestAccess.Event) throws(GigHiveError) -> UploadDetails {
        try DetailRule("label").checkBytes(label, limit: 255)
        var details = self
        details.eventDate = event.eventDate
        details.orgName = event.orgName
        details.eventType = event.eventType
        return details
    }

    /// The form's fields in the order they are sent, without unset ones.
    public var fields: [UploadField] {
        let optional = [
            ("participants", participants), ("keywords", keywords), ("location", location), ("rating", rating),
            ("notes", notes),
        ]
        return [
            UploadField("event_date", eventDate), UploadField("org_name", orgName),
            UploadField("event_type", eventType), UploadField("label", label),
        ] + optional.compactMap { name, value in value.map { UploadField(name, $0) } }
    }
}

extension UploadDetails {
    /// The details of a journal row; nil if a required one is missing.
    init?(_ fields: [UploadField]) {
        guard let eventDate = fields["event_date"], let orgName = fields["org_name"],
            let eventType = fields["event_type"], let label = fields["label"]
        else { return nil }
        self.init(
            eventDate: eventDate,
            orgName: orgName,
            eventType: eventType,
            label: label,
            participants: fields["participants"],
            keywords: fields["keywords"],
            location: fields["location"],
            rating: fields["rating"],
            notes: fields["notes"]
        )
    }
}

extension [UploadField] {
    package subscript(name: String) -> String? { first { $0.name == name }?.value }
}

struct DetailRule {
    let field: String
    let allowsLineBreaks: Bool

    init(_ field: String, allowsLineBreaks: Bool = false) {
        self.field = field
        self.allowsLineBreaks = allowsLineBreaks
    }

    func required(_ value: String, limit: Int) throws(GigHiveError) -> String {
        guard let text = try limited(value, limit: limit) else { throw invalid(value, "must not be blank") }
        return text
    }

    func limited(_ value: String?, limit: Int) throws(GigHiveError) -> String? {
        guard let value, let text = try optional(value) else { return nil }
        let count = text.unicodeScalars.count
        guard count <= limit else {
            throw invalid(value, "has \(count) characters; at most \(limit) are allowed", limit: Int64(limit))
        }
        return text
    }

    /// A comma-separated list of names, with a limit for each name (trap T26).
    func names(_ value: String?, limit: Int) throws(GigHiveError) -> String? {
        guard let value, let text = try optional(value) else { return nil }
        for name in text.split(separator: ",") {
            let count = Self.trimmed(String(name)).unicodeScalars.count
            guard count <= limit else {
                throw invalid(
                    value,
                    "has a name of \(count) characters; at most \(limit) are allowed",
                    limit: Int64(limit)
                )
            }
        }
        return text
    }

    /// A limit for guests, in bytes of UTF-8 (gighive contract section 6).
    func checkBytes(_ text: String, limit: Int) throws(GigHiveError) {
        let count = text.utf8.count
        guard count <= limit else {
            throw invalid(text, "has \(count) bytes; at most \(limit) are allowed for guests", limit: Int64(limit))
        }
    }

    func optional(_ value: String?) throws(GigHiveError) -> String? {
        guard let value else { return nil }
        if Self.isPlain(value) { return value }
        let text = Self.trimmed(value).precomposedStringWithCanonicalMapping
        let isControl = text.unicodeScalars.contains { scalar in
            guard scalar.properties.generalCategory == .control else { return false }
            return !(allowsLineBreaks && ["\n", "\r", "\t"].contains(scalar))
        }
        if isControl {
            throw invalid(value, "must not contain control characters")
        }
        return text.unicodeScalars.allSatisfy(Self.isBlank) ? nil : text
    }

    /// Whether a text is valid as it is: printable ASCII without surrounding spaces, as nearly all are.
    private static func isPlain(_ value: String) -> Bool {
        TerminalText.isPrintableASCII(value) && !value.isEmpty && !value.hasPrefix(" ") && !value.hasSuffix(" ")
    }

    /// Without surrounding whitespace. U+0085 is also a control character, and is refused later.
    private static func trimmed(_ value: String) -> String {
        let isSpace = { (scalar: Unicode.Scalar) in scalar.properties.isWhitespace && scalar.value != 0x85 }
        let rest = value.unicodeScalars.drop(while: isSpace)
        guard let end = rest.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(rest[...end])
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || [0x200b, 0x200c, 0x200d, 0x2060, 0xfeff].contains(scalar.value)
    }

    func choice(_ value: String, of choices: [String]) throws(GigHiveError) -> String {
        guard let text = try optional(value), choices.contains(text) else {
            throw invalid(value, "must be one of \(choices.joined(separator: ", "))")
        }
        return text
    }

    func date(_ value: String) throws(GigHiveError) -> String {
        // Impossible dates match the server's own pattern and cause a 500 after the whole body (gighive contract 2.1).
        guard let text = try optional(value), let date = CivilTime(day: text), date.year >= 1 else {
            throw invalid(value, "must be a valid date (YYYY-MM-DD)")
        }
        return text
    }

    func rating(_ value: String?) throws(GigHiveError) -> String? {
        guard let text = try optional(value) else { return nil }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), number <= 9 else {
            throw invalid(text, "must be a whole number from 0 to 9", limit: 9)
        }
        return String(number)
    }

    private func invalid(_ value: String, _ rule: String, limit: Int64? = nil) -> GigHiveError {
        GigHiveError(.invalidDetail, detail: rule, value: value, limit: limit).with(\.field, field)
    }
}

/// The file extensions that a server accepts by default (gighive contract 2.4).
enum AcceptedMedia {
    static let audio: Set<String> = [
        "mp3", "wav", "flac", "aac", "m4a", "m4p", "aif", "aifc", "aiff", "ogg", "oga", "au", "m2a", "wma",
    ]
    static let video: Set<String> = [
        "mp4", "mov", "mkv", "webm", "m4v", "avi", "mpg", "mpeg", "ts", "m2t", "m2ts", "ogv", "mxf", "flv", "rm",
        "rmvb", "rv", "wmv", "vob", "m2v", "bup", "ifo",
    ]

    /// The media types of the same list.
    static let types: Set<String> = {
        let names = [
            "audio": "mpeg mp3 wav x-wav aac flac mp4 aiff x-aiff ogg vorbis basic x-au au mp2 mpeg2 x-ms-wma "
                + "vnd.rn-realaudio x-pn-realaudio",
            "video": "mp4 quicktime x-matroska webm x-msvideo mpeg mp2t ogg x-flv mxf vnd.rn-realvideo "
                + "x-ms-wmv x-ms-asf",
            "application": "ogg mxf vnd.rn-realmedia vnd.ms-asf",
        ]
        return Set(names.flatMap { family, names in names.split(separator: " ").map { "\(family)/\($0)" } })
    }()

    /// `audio` or `video`; nil for an extension that servers do not accept.
    static func kind(ofExtension pathExtension: String) -> String? {
        if audio.contains(pathExtension) {
            return "audio"
        }
        return video.contains(pathExtension) ? "video" : nil
    }
}

/// A server's observed size limit for one request: no response reports the limits of PHP and proxies (trap T23).
final class DirectLimit: Sendable {
    private let smallestRefused = Mutex(Int64.max)

    /// A file of this many bytes was refused for its size.
    func note(refused byteCount: Int64) {
        smallestRefused.withLock { $0 = min($0, byteCount) }
    }

    /// Whether a file of this many bytes, or a smaller one, was refused.
    func isExceeded(by byteCount: Int64) -> Bool {
        smallestRefused.withLock { byteCount >= $0 }
    }
}
