internal import Foundation

/// The delete tokens that the server's upload page keeps in a browser (gighive contract, trap T28): a JSON object from id to
/// token, without host, checksum or time.
struct WebTokens: Sendable {
    /// The key of the tokens in the browser's local storage.
    static let storageKey = "uploader_delete_tokens_v1"

    /// Ids in ascending order, with the tokens as they are written.
    let tokens: [(fileID: Int64, text: String)]

    /// Reads the object, or a dump of the local storage that has it; nil when the bytes are something else.
    init?(_ bytes: [UInt8]) {
        guard var object = try? JSONDecoder().decode([String: String].self, from: Data(bytes)) else { return nil }
        if let inner = object[Self.storageKey] {
            guard let tokens = try? JSONDecoder().decode([String: String].self, from: Data(inner.utf8)) else {
                return nil
            }
            object = tokens
        }
        let tokens = object.compactMap { key, text in
            Digits.only(key) ? Int64(key).flatMap { $0 > 0 ? (fileID: $0, text: text) : nil } : nil
        }
        guard !tokens.isEmpty, tokens.count == object.count else { return nil }
        self.tokens = tokens.sorted { $0.fileID < $1.fileID }
    }
}
