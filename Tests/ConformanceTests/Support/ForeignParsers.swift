import Foundation
import MediaTransport
import TestSupport
import Testing

/// Keeps the third-party parsers running during a suite.
struct ForeignParsers: SuiteTrait, TestScoping {
    @TaskLocal static var current: ParserServers?

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        let servers = try await ParserServers()
        try await Self.$current.withValue(servers) {
            try await function()
        }
    }
}

extension Trait where Self == ForeignParsers {
    /// Starts PHP and the Python parsers for the suite.
    static var foreignParsers: ForeignParsers { ForeignParsers() }
}

/// A third-party parser.
enum Parser: String, CaseIterable, Sendable {
    case php
    case werkzeug
    case pythonMultipart = "python-multipart"
}

/// The running parsers.
final class ParserServers: Sendable {
    private let php: ForeignServer
    private let python: ForeignServer

    init() async throws {
        php = try await ForeignProgram.php()
        python = try await ForeignServer(
            announcing: ForeignProgram.python,
            ["\(ForeignProgram.scripts)/multipart_parsers.py"]
        )
    }

    /// The address at which a parser listens.
    func server(of parser: Parser) -> String {
        parser == .php ? php.address : python.address
    }

    /// Sends a form with our client and returns the parser's result.
    func parse(_ form: SampleForm, with parser: Parser) async throws -> ParsedForm {
        let directory = try TemporaryDirectory()
        let body = try form.body(contentAt: directory.file("content"))
        let client = try HTTPClient()
        let response = try await client.execute(
            HTTPRequest(
                .post,
                try ServerURL(server(of: parser)).resource("/\(parser.rawValue)"),
                headers: [HTTPHeader("Content-Type", body.contentType)],
                body: body,
                repeatability: .atMostOnce
            )
        )
        let parsed = try ParsedForm(json: Data(response.body))
        #expect(parsed.contentLength == Int(body.byteCount))
        return parsed
    }

    /// Sends a form with `curl -F` and returns the parser's result.
    func parseFromCurl(_ form: SampleForm, with parser: Parser) async throws -> ParsedForm {
        let directory = try TemporaryDirectory()
        try Data(form.content).write(to: URL(filePath: directory.file("content")))
        let curl = try await ForeignProgram.run(
            try ForeignProgram.path(of: "curl"),
            ["--silent", "--show-error", "--noproxy", "*"]
                + form.curlArguments(contentAt: directory.file("content"))
                + ["\(server(of: parser))/\(parser.rawValue)"]
        )
        try #require(curl.status == 0, "curl: \(curl.errors)")
        return try ParsedForm(json: Data(curl.output.utf8))
    }
}
