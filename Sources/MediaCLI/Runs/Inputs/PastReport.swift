internal import Foundation
internal import MediaFiles

/// The report of an earlier run, as `--retry-failed` reads it.
struct PastReport: Sendable {
    private struct Document: Decodable {
        var schema: String
        var workingDirectory: String
        var items: [Item]
    }

    private struct Item: Decodable {
        var path: String
        var pathBase64: String?
        var state: String
        var eventDate: String?
        var orgName: String?
        var eventType: String?
        var label: String?
        var participants: String?
        var keywords: String?
        var location: String?
        var rating: String?
        var notes: String?
    }

    /// What nothing is to be done about: the server has the file. A lost token does not come back by sending again.
    private static let goodEnds: Set<String> = ["done", "duplicate", "token_lost"]

    private let document: Document

    /// Reads a report.
    ///
    /// - Throws: `Diagnosis` (usage) when it is none.
    init(reading bytes: [UInt8], name: String) throws(Diagnosis) {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let document = try? decoder.decode(Document.self, from: Data(bytes)),
            document.schema == UploadReport.schema
        else {
            throw .usage(
                "--retry-failed: \(ErrorCatalogue.quoted(RawArguments.bytes(of: name))) is no report of an upload",
                hint: "reports are written by mediactl upload with --report FILE"
            )
        }
        self.document = document
    }

    /// Number of files of that run.
    var itemCount: Int { document.items.count }

    private var failed: [Item] { document.items.filter { !Self.goodEnds.contains($0.state) } }

    /// How many of those that failed were standard input.
    var unreadableCount: Int { failed.count { $0.path == "-" } }

    /// The files that did not end well. Relative paths of another directory than the present one are completed.
    func inputs(from directory: String) -> [UploadInput] {
        failed.filter { $0.path != "-" }.map { item in
            UploadInput(source: .file(path(of: item, from: directory)), origin: .report, fields: fields(of: item))
        }
    }

    private func path(of item: Item, from directory: String) -> [UInt8] {
        let path = item.pathBase64.flatMap { Data(base64Encoded: $0) }.map(Array.init) ?? Array(item.path.utf8)
        guard path.first != UInt8(ascii: "/"), document.workingDirectory != directory else { return path }
        return Array(document.workingDirectory.utf8) + [UInt8(ascii: "/")] + path
    }

    private func fields(of item: Item) -> [String: String] {
        let all: [String: String?] = [
            "event_date": item.eventDate, "org_name": item.orgName, "event_type": item.eventType,
            "label": item.label, "participants": item.participants, "keywords": item.keywords,
            "location": item.location, "rating": item.rating, "notes": item.notes,
        ]
        return all.compactMapValues { $0 }
    }
}
