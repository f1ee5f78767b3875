internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaFiles

extension JSONRenderer {
    /// A kept response; `result` is what happened to it.
    static func kept(_ response: KeptResponse, result: String) -> JSONObject {
        [
            "response_id": .string(response.id), "upload_id": JSONValue(response.uploadID),
            "host": JSONValue(response.host), "http_status": JSONValue(response.status),
            "received_at": .string(Formats.timestamp(response.receivedAt)), "size_bytes": JSONValue(response.sizeBytes),
            "has_token": .bool(response.hasToken), "file_id": JSONValue(response.fileID),
            "path": .string(response.path), "result": .string(result),
        ]
    }
}

extension TextRenderer {
    /// A table of kept responses.
    static func kept(_ responses: [KeptResponse], now: Date, width: Int?, style: Style) -> [String] {
        guard !responses.isEmpty else { return [] }
        var table = Table(columns: [
            .init(title: "RESPONSE"), .init(title: "TOKEN"), .init(title: "ID", alignment: .right),
            .init(title: "STATUS", alignment: .right, dropOrder: 2),
            .init(title: "SIZE", alignment: .right, dropOrder: 1), .init(title: "RECEIVED", dropOrder: 3),
            .init(title: "UPLOAD", dropOrder: 0), .init(title: "SERVER", isFlexible: true, minimumWidth: 12),
        ])
        table.rows = responses.map { response in
            [
                response.id, response.hasToken ? "found" : "not found", response.fileID.map { "\($0)" } ?? "-",
                response.status.map { "\($0)" } ?? "-", Formats.bytes(Int64(response.sizeBytes)),
                Formats.age(of: response.receivedAt, now: now),
                response.uploadID.map { TerminalText.escaped($0) } ?? "-",
                response.host.map { TerminalText.escaped($0) } ?? "-",
            ]
        }
        return table.lines(fitting: width, style: style)
    }

    /// A kept response in one line, for questions.
    static func brief(_ response: KeptResponse) -> String {
        let status = response.status.map { ", status \($0)" } ?? ""
        let host = response.host.map { " from \(TerminalText.escaped($0))" } ?? ""
        return "\(response.id): a response\(host)\(status), \(Formats.bytes(Int64(response.sizeBytes)))."
    }
}
