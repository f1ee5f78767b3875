import HTTPTypes
import HummingbirdCore
import NIOCore

/// `POST /db/delete_media_files.php` (gighive contract 5).
struct DeleteEndpoint {
    let catalog: Catalog
    private var dialect: Dialect { catalog.dialect }

    func response(to exchange: Exchange) async throws -> Response {
        let body = try await exchange.collectBody(upTo: 16 << 20)
        guard exchange.request.method == .post else {
            return error(.methodNotAllowed, "Method Not Allowed", "Only POST requests are accepted")
                .with { $0.headers.append(("Allow", "POST")) }
        }
        let object = (try? JSONValue(Array(body.readableBytesView))) ?? .null
        switch exchange.user {
        case "admin": return try deleteAsAdministrator(object)
        case "uploader": return try deleteByToken(object)
        default: return error(.forbidden, "Forbidden", "Forbidden")
        }
    }

    private func deleteByToken(_ object: JSONValue) throws -> Response {
        guard let id = object[dialect.idKey].flatMap(Self.number), let token = object["delete_token"]?.string?.nonBlank
        else {
            return error(.badRequest, "Bad Request", "Expected JSON body with \(dialect.idKey) and delete_token")
        }
        // A wrong token, an unknown ID, and a file without a token get the same response (trap T11).
        guard try catalog.tokenIsValid(token, forAsset: id) else {
            return error(.forbidden, "Forbidden", "Invalid delete token")
        }
        return try result([id])
    }

    /// No token is checked here (trap T10).
    private func deleteAsAdministrator(_ object: JSONValue) throws -> Response {
        guard case .array(let list)? = object[dialect.idListKey] else {
            return error(.badRequest, "Bad Request", "Expected JSON body with \(dialect.idListKey) array")
        }
        var ids: [Int] = []
        for id in list.compactMap(Self.number) where id > 0 && !ids.contains(id) { ids.append(id) }
        guard !ids.isEmpty else { return error(.badRequest, "Bad Request", "No valid \(dialect.idListKey) provided") }
        return try result(ids)
    }

    private static func number(_ value: JSONValue) -> Int? {
        switch value {
        case .string(let text) where text.allSatisfy(\.isWholeNumber): Int(text)
        case .number(let text): Int(text)
        default: nil
        }
    }

    private func result(_ ids: [Int]) throws -> Response {
        var deleted: [JSONValue] = []
        var errors: [JSONValue] = []
        for id in ids {
            if let message = try catalog.delete(id) {
                errors.append(
                    .object([.init(key: dialect.idKey, value: .int(id)), .init(key: "error", value: .string(message))])
                )
            } else {
                deleted.append(.object([.init(key: dialect.idKey, value: .int(id))]))
            }
        }
        return .json(
            .ok,
            [
                "success": .bool(errors.isEmpty), "db": ["host": "localhost", "name": "sandbox"],
                "deleted_count": .int(deleted.count), "error_count": .int(errors.count),
                "results": ["deleted": .array(deleted), "errors": .array(errors)],
            ]
        )
    }

    private func error(_ status: HTTPResponse.Status, _ error: String, _ message: String) -> Response {
        .json(status, ["success": false, "error": .string(error), "message": .string(message)])
    }
}
