import Foundation
import NIOCore

/// The body of a finalize: JSON, or a form when the type says so (gighive contract 4.2).
struct FinalizeRequest {
    private let values: [String: Any]
    /// Whether `tos_accepted` is JSON's `true`, and nothing that resembles it (gighive contract 6).
    let acceptsTerms: Bool

    init(_ body: ByteBuffer, contentType: String) {
        let data = Data(body.readableBytesView)
        acceptsTerms = (try? JSONDecoder().decode(Terms.self, from: data))?.isAccepted ?? false
        if contentType.lowercased().hasPrefix("application/x-www-form-urlencoded") {
            values = QueryParameters(String(buffer: body)).all
        } else if contentType.lowercased().hasPrefix("multipart/form-data") {
            values = Self.formFields(body, boundary: HeaderParameters(contentType)["boundary"] ?? "")
        } else {
            values = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:]
        }
    }

    private struct Terms: Decodable {
        var isAccepted: Bool

        enum CodingKeys: String, CodingKey {
            case isAccepted = "tos_accepted"
        }
    }

    private static func formFields(_ body: ByteBuffer, boundary: String) -> [String: String] {
        var fields: [String: String] = [:]
        var name = ""
        var parser = MultipartParser(boundary: boundary)
        try? parser.consume(body) { event in
            switch event {
            case .partBegan(let header): name = header.name
            case .data(let buffer): fields[name, default: ""] += String(buffer: buffer)
            case .partEnded: break
            }
        }
        return fields
    }

    static let invalidGuestFields = "Missing or invalid token-mode fields (label, tos_accepted)"

    /// The label of a guest's upload; nil when a field that guests must send is missing or invalid.
    var guestLabel: String? {
        guard let label = text("label"), label.utf8.count <= 255, acceptsTerms,
            (text("display_name") ?? "").unicodeScalars.count <= 100
        else { return nil }
        return label
    }

    /// Nil unless it consists of what the server allows in an id.
    var uploadID: String? {
        guard let id = text("upload_id"), id.wholeMatch(of: /[A-Za-z0-9_\-]+/) != nil else { return nil }
        return id
    }

    /// The id as D4 takes it: only hex digits and dashes.
    var blockUploadID: String? {
        uploadID.flatMap { $0.wholeMatch(of: /[A-Fa-f0-9\-]+/) == nil ? nil : $0 }
    }

    /// The trimmed text of a field; nil when it is missing or blank.
    func text(_ name: String) -> String? {
        let text: String? =
            switch values[name] {
            case let text as String: text
            case let number as NSNumber: number.stringValue
            default: nil
            }
        let trimmed = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        return trimmed.isEmpty ? nil : trimmed
    }

    static let fieldNames = [
        "event_date", "org_name", "event_type", "label", "participants", "keywords", "location", "rating", "notes",
    ]

    /// The fields of the upload: from the body, else from the metadata, else absent.
    func fields(orFrom metadata: TusMetadata) -> [String: String] {
        var fields: [String: String] = [:]
        for name in Self.fieldNames {
            let fallback = metadata[name]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
            fields[name] = text(name) ?? (fallback.isEmpty ? nil : fallback)
        }
        return fields
    }
}
