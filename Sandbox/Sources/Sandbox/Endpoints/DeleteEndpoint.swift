import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `POST /db/delete_media_files.php` (gighive contract 5).
struct DeleteEndpoint {
    private static let bodyLimit = 16 << 20

    let catalog: Catalog
    private var dialect: Dialect { catalog.dialect }

    func reply(to exchange: Exchange) async throws -> Reply {
        let body = try await exchange.collectBody(upTo: Self.bodyLimit)
        guard exchange.request.method == .post else {
            var reply = error(.methodNotAllowed, "Method Not Allowed", "Only POST requests are accepted")
            reply.headers.append(("Allow", "POST"))
            return reply
        }
        let object = try? JSONSerialization.jsonObject(with: Data(body.readableBytesView)) as? [String: Any]
        switch exchange.user {
        case "admin": return try deleteAsAdministrator(object ?? [:])
        case "uploader": return try deleteByToken(object ?? [:])
        default: return error(.forbidden, "Forbidden", "Forbidden")
        }
    }

    private func deleteByToken(_ object: [String: Any]) throws -> Reply {
        guard let id = Self.number(object[dialect.idKey]),
            let token = (object["delete_token"] as? String)?.trimmingCharacters(in: .whitespacesAndNewlines),
            !token.isEmpty
        else {
            return error(.badRequest, "Bad Request", "Expected JSON body with \(dialect.idKey) and delete_token")
        }
        // One answer for a wrong token, an unknown id and a file without a token (trap T11).
        guard try catalog.tokenIsValid(token, forAsset: id) else {
            return error(.forbidden, "Forbidden", "Invalid delete token")
        }
        return result([try catalog.delete(id)])
    }

    /// No token is checked here (trap T10).
    private func deleteAsAdministrator(_ object: [String: Any]) throws -> Reply {
        guard let list = object[dialect.idListKey] as? [Any] else {
            return error(.badRequest, "Bad Request", "Expected JSON body with \(dialect.idListKey) array")
        }
        var ids: [Int] = []
        for id in list.compactMap(Self.number) where id > 0 && !ids.contains(id) { ids.append(id) }
        guard !ids.isEmpty else {
            return error(.badRequest, "Bad Request", "No valid \(dialect.idListKey) provided")
        }
        return result(try ids.map(catalog.delete))
    }

    /// A JSON number or a string of digits.
    private static func number(_ value: Any?) -> Int? {
        switch value {
        case let text as String: text.allSatisfy(\.isWholeNumber) ? Int(text) : nil
        case let number as Int: number
        default: nil
        }
    }

    private func result(_ outcomes: [DeleteOutcome]) -> Reply {
        var deleted: [JSONValue] = []
        var errors: [JSONValue] = []
        for outcome in outcomes {
            switch outcome {
            case .deleted(let id): deleted.append(.object([dialect.idKey: .int(id)]))
            case .failed(let id, let message):
                errors.append(.object([dialect.idKey: .int(id), "error": .string(message)]))
            }
        }
        return .json(
            .ok,
            [
                "success": .bool(errors.isEmpty),
                "db": ["host": "localhost", "name": "sandbox"],
                "deleted_count": .int(deleted.count),
                "error_count": .int(errors.count),
                "results": ["deleted": .array(deleted), "errors": .array(errors)],
            ]
        )
    }

    private func error(_ status: HTTPResponse.Status, _ error: String, _ message: String) -> Reply {
        .json(status, ["success": false, "error": .string(error), "message": .string(message)])
    }
}
