import Foundation
internal import MediaCore

/// Token entries as JSON lines: a backup, and a way to merge the stores of several machines.
///
/// A line is an object with `schema` (`mediactl.token-export/1`) and the keys of `ExportedToken`, all of them, in
/// alphabetical order. Times are RFC 3339 in UTC with milliseconds. The number of a row in its store is not exported.
public enum TokenExport {
    /// One entry as a line, without its line feed. Contains the token. Safe to print on a terminal.
    public static func line(_ entry: TokenEntry) -> [UInt8] {
        // The output equals that of an encoder with sorted keys, which takes ten times as long.
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

    /// Reads one line (without its line feed; `number`, from 1, is for errors) into an entry without a row number.
    /// `scope` returns the host of a base URL in the token store, with its port if it is not the scheme's default; nil
    /// if it is not the address of a server. Throws if the line is not an entry, or its base URL does not fit its host.
    public static func entry(
        in line: ArraySlice<UInt8>,
        number: Int,
        scope: (_ baseURL: String) -> String?
    ) throws(TokenExportError) -> TokenEntry {
        do throws(ExportedToken.Problem) {
            return try ExportedToken(line).entry(scope: scope)
        } catch {
            throw TokenExportError(line: number, reason: error.reason)
        }
    }
}

/// An export that cannot be read. Contains no token.
public struct TokenExportError: Error, Sendable, Equatable {
    /// Line, from 1.
    public var line: Int
    /// The error, for the user.
    public var reason: String
}

/// A line of an export.
struct ExportedToken {
    /// The error in a line; does not contain any of its values.
    struct Problem: Error {
        let reason: String
    }

    static let schema = "mediactl.token-export/1"
    /// About ten times the longest line that an upload's limits allow.
    static let longestLine = 64 << 10

    private let members: JSONObject

    init(_ line: ArraySlice<UInt8>) throws(Problem) {
        guard line.count <= Self.longestLine else { throw Problem(reason: "longer than \(Self.longestLine) bytes") }
        guard let members = JSONValue.object(in: line) else { throw Problem(reason: "not a JSON object") }
        self.members = members
    }

    func entry(scope: (String) -> String?) throws(Problem) -> TokenEntry {
        guard try text("schema") == Self.schema else { throw Problem(reason: "\"schema\" is not \(Self.schema)") }
        guard let token = DeleteToken(try text("delete_token")) else {
            throw Problem(reason: "\"delete_token\" is not a valid token")
        }
        let time = try text("created_at")
        guard time.hasSuffix("Z"), let createdAt = RFC3339.microseconds(time) else {
            throw Problem(reason: "\"created_at\" is not a UTC time")
        }
        let (fileID, size, checksum) = (try number("file_id"), try number("size_bytes"), try text("checksum_sha256"))
        guard fileID > 0 else { throw Problem(reason: "\"file_id\" must be 1 or more") }
        guard size >= 0 else { throw Problem(reason: "\"size_bytes\" is negative") }
        guard checksum.isEmpty || SHA256Text.isLowerCase(checksum) else {
            throw Problem(reason: "\"checksum_sha256\" is not a checksum")
        }
        let (host, baseURL) = (try text("host"), try text("base_url"))
        guard !host.isEmpty, scope(baseURL) == host else {
            throw Problem(reason: "\"base_url\" does not match \"host\"")
        }
        guard case .bool(let isSuperseded)? = members["superseded"] else { throw problem("superseded") }
        return TokenEntry(
            host: host,
            fileID: fileID,
            token: token,
            createdAt: Date(milliseconds: createdAt.flooredDivision(by: 1000).quotient),
            eventDate: try text("event_date"),
            orgName: try text("org_name"),
            eventType: try text("event_type"),
            label: try optionalText("label"),
            fileName: try text("file_name"),
            fileType: try text("file_type"),
            checksumSHA256: checksum,
            sizeBytes: size,
            baseURL: baseURL,
            isSuperseded: isSuperseded
        )
    }

    private func text(_ key: String) throws(Problem) -> String {
        guard let text = members[key]?.text else { throw problem(key) }
        return text
    }

    private func optionalText(_ key: String) throws(Problem) -> String? {
        switch members[key] {
        case nil, .null?: nil
        default: try text(key)
        }
    }

    private func number(_ key: String) throws(Problem) -> Int64 {
        switch members[key] {
        case .integer(let number)?: return number
        case .double(let number)?:
            guard let number = Int64(exactly: number) else { throw Problem(reason: "\"\(key)\" is not a whole number") }
            return number
        default: throw problem(key)
        }
    }

    private func problem(_ key: String) -> Problem {
        Problem(reason: members[key] != nil ? "\"\(key)\" has the wrong type" : "\"\(key)\" is missing")
    }

    static func text(_ time: Date) -> String { RFC3339.text(milliseconds: time.milliseconds) }
}
