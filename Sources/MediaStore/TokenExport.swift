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

    /// Makes an error.
    package init(line: Int, reason: String) {
        self.line = line
        self.reason = reason
    }
}
