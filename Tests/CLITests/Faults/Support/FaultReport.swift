import Foundation
import TestSupport
import Testing

/// The output of a run with `--json`: records for programs and messages for people.
struct FaultReport: Sendable {
    let result: ChildResult
    let records: [Record]

    /// The members that the tests check.
    struct Record: Decodable, Sendable {
        struct Failure: Decodable, Sendable {
            var code: String
            var message: String
            var httpStatus: Int?
            var retryable: Bool
            var hint: String?
        }

        struct Warning: Decodable, Sendable {
            var code: String
            var message: String
        }

        var type: String
        var state: String?
        var error: Failure?
        var exitCode: Int32?
        var fileId: Int64?
        var hasDeleteToken: Bool?
        var deletableDuplicate: Bool?
        var attempts: Int?
        var bytesSent: Int64?
        var httpStatus: Int?
        var warnings: [Warning]?
    }

    init(_ result: ChildResult) {
        self.result = result
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let lines = result.lines
        records = lines.compactMap { try? decoder.decode(Record.self, from: Data($0.utf8)) }
        #expect(records.count == lines.count, "every line is a record: \(result.output)")
        for line in lines {
            #expect(throws: Never.self) { try Self.validate(line) }
        }
    }

    /// Compares a record with its published schema.
    private static func validate(_ line: String) throws {
        let record = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let schema = try #require(record["schema"] as? String)
        let name = schema.dropFirst("mediactl.".count).prefix { $0 != "/" }
        try JSONSchemaTests.schema(String(name)).validate(record)
    }

    var items: [Record] { records.filter { $0.type == "item" } }

    /// The only item.
    func item() throws -> Record {
        try #require(items.count == 1 ? items.first : nil, "\(result)")
    }

    /// The error of the only item, or of the whole command.
    var failure: Record.Failure? { records.compactMap(\.error).first }

    /// Checks what every failure must report: the exit code, twice; one last record; code and message for programs;
    /// the same message and hint for people.
    func expect(_ fault: ExpectedFault, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(result.exitCode == fault.exitCode, "\(result)", sourceLocation: sourceLocation)
        expectOneLastRecord(sourceLocation: sourceLocation)
        guard let failure else {
            Issue.record("no error record: \(result)", sourceLocation: sourceLocation)
            return
        }
        #expect(failure.code == fault.code, "\(result)", sourceLocation: sourceLocation)
        #expect(failure.message.contains(fault.message), "\(failure.message)", sourceLocation: sourceLocation)
        let lines = result.errors.split(separator: "\n").map(String.init)
        #expect(lines.contains("mediactl: error: \(failure.message)"), "\(lines)", sourceLocation: sourceLocation)
        if let hint = fault.hint {
            #expect(failure.hint?.contains(hint) == true, "\(failure)", sourceLocation: sourceLocation)
        }
        if let hint = failure.hint {
            #expect(lines.contains("mediactl: hint: \(hint)"), "\(lines)", sourceLocation: sourceLocation)
        }
    }

    /// Checks a run that succeeded.
    func expectSuccess(_ state: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(result.exitCode == 0, "\(result)", sourceLocation: sourceLocation)
        #expect(items.map(\.state) == [state], "\(result)", sourceLocation: sourceLocation)
        expectOneLastRecord(sourceLocation: sourceLocation)
    }

    private func expectOneLastRecord(sourceLocation: SourceLocation) {
        let lasts = records.indices.filter { ["summary", "error"].contains(records[$0].type) }
        #expect(lasts == [records.count - 1], "\(result)", sourceLocation: sourceLocation)
        #expect(records.last?.exitCode == result.exitCode, "\(result)", sourceLocation: sourceLocation)
    }
}

/// A failure as documented.
struct ExpectedFault: Sendable {
    var exitCode: Int32
    var code: String
    /// Part of the message.
    var message: String
    /// Part of the hint; nil if it is not checked.
    var hint: String?

    init(_ exitCode: Int32, _ code: String, _ message: String, hint: String? = nil) {
        self.exitCode = exitCode
        self.code = code
        self.message = message
        self.hint = hint
    }
}
