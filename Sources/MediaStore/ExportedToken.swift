import Foundation
internal import MediaCore

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
        guard line.checksumSHA256.isEmpty || HashDatabase.isDigest(line.checksumSHA256) else {
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
            return try JSONDecoder().decode(ExportedToken.self, from: Data(line))
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
