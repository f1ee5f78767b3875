internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaSystem

struct MediaFilterOptions: ParsableArguments {
    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case audio
        case video
    }

    @Option("Only files of events on this date.", value: "yyyy-mm-dd")
    var eventDate: String?

    @Option("Only files of this organization (full name, case-insensitive).", value: "name")
    var orgName: String?

    @Option(
        "Only files of events of this type, for example band. Fails if the server does not report event types.",
        value: "type"
    )
    var eventType: String?

    @Option("Only files with this label (full label, case-insensitive).", value: "text")
    var label: String?

    @Option(
        "Only files with this name: the name on the server, or the original name. Servers do not store the original "
            + "name, so it is compared with the label. Requires the uploader or the admin user, and one request for "
            + "each file with a different label.",
        value: "name"
    )
    var fileName: String?

    @Option("Only the file with this SHA-256.", value: "hex")
    var sha256: String?

    @Option(
        "Only files uploaded since this date, or since \"YYYY-MM-DD HH:MM:SS\", in the server's time zone. "
            + "Fails if the server does not report upload times.",
        value: "time"
    )
    var since: String?

    @Option(help: "Only files of this type.")
    var type: Kind?

    func validate() throws {
        for (name, value) in [
            ("org-name", orgName), ("event-type", eventType), ("label", label), ("file-name", fileName),
        ] where value?.allSatisfy(\.isWhitespace) == true {
            throw ValidationError("--\(name): must not be empty.")
        }
        if let eventDate, CivilTime(day: eventDate) == nil {
            throw ValidationError("--event-date: not a valid date (YYYY-MM-DD).")
        }
        if let since, !Self.isTime(since) {
            throw ValidationError("--since: not a valid date or time (YYYY-MM-DD, or \"YYYY-MM-DD HH:MM:SS\").")
        }
        try Self.validate(sha256: sha256)
    }

    var query: MediaQuery {
        var query = MediaQuery()
        query.eventDate = eventDate
        query.orgName = orgName
        query.eventType = eventType
        query.label = label
        query.fileName = fileName
        query.checksumSHA256 = sha256.flatMap { SHA256Digest(hex: $0)?.hex }
        query.since = since.map { $0.replacing("T", with: " ") }
        query.fileType = type?.rawValue
        return query
    }

    static func validate(sha256: String?) throws {
        guard let sha256, SHA256Digest(hex: sha256) == nil else { return }
        throw ValidationError("--sha256: not 64 hexadecimal digits.")
    }

    private static func isTime(_ text: String) -> Bool {
        let parts = text.split(maxSplits: 1) { $0 == " " || $0 == "T" }
        guard let day = parts.first, CivilTime(day: day) != nil else { return false }
        return parts.count == 1 && parts[0].count == text.count
            || parts.count == 2 && parts[1].wholeMatch(of: /([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?/) != nil
    }
}

enum LocalChecksum {
    /// Returns 64 lowercase hexadecimal characters.
    ///
    /// - Throws: `SourceFileError`; `UserFacingError` if reading fails or the file changes while it is read.
    static func hex(of path: [UInt8]) async throws -> String {
        let file = try SourceFile(path: path)
        let digest: SHA256Digest
        do {
            digest = try await SHA256Digest.ofFile(descriptor: file.descriptor, byteCount: file.status.size)
        } catch let error as CryptoError {
            throw UserFacingError(
                .fileUnreadable,
                "cannot read \(ErrorCatalog.quoted(path)): \(ErrorCatalog.clean("\(error)"))"
            )
        }
        guard try file.currentStatus() == file.status else {
            throw UserFacingError(
                .sourceChanged,
                "\(ErrorCatalog.quoted(path)) changed while it was being read",
                isRetryable: true
            )
        }
        return digest.hex
    }
}
