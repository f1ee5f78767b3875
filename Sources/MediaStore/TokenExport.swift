import Foundation
internal import MediaCore

/// Token entries as JSON lines: a backup, and how the stores of several machines come together.
///
/// A line is an object with `schema` (`mediactl.token-export/1`) and the keys of `ExportedToken`, all of them, in the order
/// of the alphabet. Times are RFC 3339 in UTC with milliseconds. The number of a row in its store is not exported.
public enum TokenExport {
    /// One entry as a line, without its line feed. Holds the token. Shown on a terminal, it cannot steer it.
    public static func line(_ entry: TokenEntry) -> [UInt8] {
        // As an encoder with sorted keys would write it, which takes ten times as long.
        let members: [(String, String)] = [
            ("base_url", quoted(entry.baseURL)), ("checksum_sha256", quoted(entry.checksumSHA256)),
            ("created_at", quoted(ExportedToken.text(entry.createdAt))), ("delete_token", quoted(entry.token.secret)),
            ("event_date", quoted(entry.eventDate)), ("event_type", quoted(entry.eventType)),
            ("file_id", "\(entry.fileID)"), ("file_name", quoted(entry.fileName)),
            ("file_type", quoted(entry.fileType)), ("host", quoted(entry.host)),
            ("label", entry.label.map(quoted) ?? "null"), ("org_name", quoted(entry.orgName)),
            ("schema", quoted(ExportedToken.schema)), ("size_bytes", "\(entry.sizeBytes)"),
            ("superseded", "\(entry.isSuperseded)"),
        ]
        return Array("{\(members.map { "\"\($0)\":\($1)" }.joined(separator: ","))}".utf8)
    }

    private static func quoted(_ text: String) -> String { JSONText.quoted(text, isForTerminals: true) }

    /// Reads a whole export. Lines may end with CR LF; empty ones are passed over.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - scope: The host that a base URL stands for in the token store, with its port when it is not the scheme's
    ///     default; nil when it is no server's address.
    /// - Returns: The entries in order, without row numbers.
    /// - Throws: `TokenExportError` with the first line that is no entry, or whose base URL does not fit its host.
    public static func entries(
        in bytes: [UInt8],
        scope: (_ baseURL: String) -> String?
    ) throws(TokenExportError) -> [TokenEntry] {
        var entries: [TokenEntry] = []
        var number = 0
        for var line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            guard !line.isEmpty else { continue }
            entries.append(try entry(in: line, number: number, scope: scope))
        }
        return entries
    }

    /// Reads one line.
    ///
    /// - Parameters:
    ///   - line: Without its end.
    ///   - number: From 1, for the error.
    ///   - scope: As above.
    /// - Returns: The entry, without a row number.
    /// - Throws: `TokenExportError`.
    package static func entry(
        in line: ArraySlice<UInt8>,
        number: Int,
        scope: (_ baseURL: String) -> String?
    ) throws(TokenExportError) -> TokenEntry {
        do throws(ExportedToken.Problem) {
            return try ExportedToken.entry(line, scope: scope)
        } catch {
            throw TokenExportError(line: number, reason: error.reason)
        }
    }
}

/// An export that cannot be read. Holds no token.
public struct TokenExportError: Error, Sendable, Equatable {
    /// Line, from 1.
    public var line: Int
    /// What is wrong, in words.
    public var reason: String
}

/// A line of an export.
struct ExportedToken: Decodable {
    /// What is wrong with a line, in words that repeat nothing of its values.
    struct Problem: Error {
        let reason: String
    }

    private enum CodingKeys: String, CodingKey {
        case baseURL = "base_url"
        case checksumSHA256 = "checksum_sha256"
        case createdAt = "created_at"
        case token = "delete_token"
        case eventDate = "event_date"
        case eventType = "event_type"
        case fileID = "file_id"
        case fileName = "file_name"
        case fileType = "file_type"
        case host, label
        case orgName = "org_name"
        case schema
        case sizeBytes = "size_bytes"
        case isSuperseded = "superseded"
    }

    static let schema = "mediactl.token-export/1"
    /// Some ten times the longest line that an upload's limits allow.
    static let longestLine = 64 << 10

    var schema: String
    var host: String
    var fileID: Int64
    var token: String
    var createdAt: String
    var eventDate: String
    var orgName: String
    var eventType: String
    var label: String?
    var fileName: String
    var fileType: String
    var checksumSHA256: String
    var sizeBytes: Int64
    var baseURL: String
    var isSuperseded: Bool

    // MARK: Reading

    static func entry(_ line: ArraySlice<UInt8>, scope: (String) -> String?) throws(Problem) -> TokenEntry {
        guard line.count <= longestLine else { throw Problem(reason: "longer than \(longestLine) bytes") }
        let line = try decoded(line)
        guard line.schema == schema else { throw Problem(reason: "\"schema\" is not \(schema)") }
        guard let token = DeleteToken(line.token) else { throw Problem(reason: "\"delete_token\" is no token") }
        guard line.createdAt.hasSuffix("Z"), let createdAt = RFC3339.microseconds(line.createdAt) else {
            throw Problem(reason: "\"created_at\" is no time in UTC")
        }
        guard line.fileID > 0 else { throw Problem(reason: "\"file_id\" is not 1 or more") }
        guard line.sizeBytes >= 0 else { throw Problem(reason: "\"size_bytes\" is negative") }
        guard line.checksumSHA256.isEmpty || SHA256Text.isLowerCase(line.checksumSHA256) else {
            throw Problem(reason: "\"checksum_sha256\" is no checksum")
        }
        guard !line.host.isEmpty, scope(line.baseURL) == line.host else {
            throw Problem(reason: "\"base_url\" does not fit \"host\"")
        }
        return TokenEntry(
            host: line.host,
            fileID: line.fileID,
            token: token,
            createdAt: Date(milliseconds: createdAt.flooredDivision(by: 1000).quotient),
            eventDate: line.eventDate,
            orgName: line.orgName,
            eventType: line.eventType,
            label: line.label,
            fileName: line.fileName,
            fileType: line.fileType,
            checksumSHA256: line.checksumSHA256,
            sizeBytes: line.sizeBytes,
            baseURL: line.baseURL,
            isSuperseded: line.isSuperseded
        )
    }

    /// A time of an export.
    static func text(_ time: Date) -> String { RFC3339.text(milliseconds: time.milliseconds) }

    private static func decoded(_ line: ArraySlice<UInt8>) throws(Problem) -> ExportedToken {
        do {
            return try ColumnJSON.decoder.decode(ExportedToken.self, from: Data(line))
        } catch DecodingError.keyNotFound(let key, _) {
            throw Problem(reason: "\"\(key.stringValue)\" is missing")
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
            throw Problem(
                reason: context.codingPath.last.map { "\"\($0.stringValue)\" is of another type" } ?? "no object"
            )
        } catch {
            throw Problem(reason: "not JSON, or a number that is not whole")
        }
    }
}
