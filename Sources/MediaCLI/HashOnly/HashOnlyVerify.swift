internal import ArgumentParser
internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct HashOnlyVerify: ContextCommand {
    static let schema = "mediactl.hash-only-verify/1"
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare a file with its capture: the record, the signature, the vault, the server.",
        discussion: """
            The file is hashed here; it is never sent. The server that has the capture is asked for it. Ends with 8 when anything differs, with 5 when no capture of it is \
            kept.

            Examples:
              mediactl hash-only verify photo.jpg
              mediactl hash-only verify photo.jpg --offline
            """
    )

    @Argument(help: ArgumentHelp("The file.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Ask no server.")
    var offline = false

    @OptionGroup(title: "Connection options") var connection: CaptureConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !file.isEmpty else { throw ValidationError("An empty path.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let context = try await CaptureContext.open(console, global, connection)
        let session = try context.anySession()
        let path = RawArguments.bytes(of: file)
        let isOffline = offline
        try console.requireOutput()
        let verification = try await console.context.interruption.cancelling {
            let match = try await session.find(.file(path))
            // Query the server that has the capture, whichever server is configured now.
            let session = try context.session(for: match.record)
            return try await (isOffline ? session : context.confidential(session)).verify(match, isOffline: isOffline)
        }
        return tell(verification, path, on: console)
    }

    private func tell(_ verification: CaptureVerification, _ path: [UInt8], on console: Console) -> ExitCode {
        for (check, finding) in verification.findings {
            console.record(.item, JSONRenderer.finding(check, finding))
        }
        let record = verification.record
        console.text(TextRenderer.verification(verification, style: console.outputStyle))
        let level = record.keyLevel.map { " by a key of the level \(ErrorCatalogue.clean($0))" } ?? ""
        if verification.isGood {
            console.note("\(ErrorCatalogue.quoted(path)) is what capture \(record.id.prefix(8)) was made of\(level)")
        } else {
            console.error(
                Diagnosis(
                    .checksumMismatch,
                    "\(ErrorCatalogue.quoted(path)) and capture \(record.id.prefix(8)) do not agree"
                )
            )
        }
        let code = console.exitCode(verification.isGood ? .success : .integrity)
        func count(_ result: String) -> JSONValue {
            JSONValue(verification.findings.count { JSONRenderer.result(of: $0.finding) == result })
        }
        console.summary([
            "path": JSONRenderer.path(path), "capture_id": .string(record.id), "server": .string(record.server),
            "server_capture_id": JSONValue(record.serverCaptureID), "media_hash": .string(record.mediaHash),
            "level": JSONValue(record.keyLevel), "offline": .bool(offline),
            "items": JSONValue(verification.findings.count), "passed": count("passed"),
            "failed": count("failed"), "skipped": count("skipped"),
            "confidence_level": JSONValue(verification.remote?.confidenceLevel),
            "exit_code": JSONRenderer.exitCode(code),
        ])
        return code
    }
}

extension JSONRenderer {
    static func finding(_ check: CaptureVerification.Check, _ finding: CaptureVerification.Finding) -> JSONObject {
        let reason: String? =
            switch finding {
            case .passed: nil
            case .failed(let reason), .skipped(let reason): reason
            }
        return ["name": .string(check.rawValue), "status": .string(result(of: finding)), "detail": JSONValue(reason)]
    }

    static func result(of finding: CaptureVerification.Finding) -> String {
        switch finding {
        case .passed: "passed"
        case .failed: "failed"
        case .skipped: "skipped"
        }
    }
}

extension TextRenderer {
    static func verification(_ verification: CaptureVerification, style: Style) -> [String] {
        verification.findings.map { check, finding in
            let name = check.rawValue.replacing("_", with: " ")
            func because(_ reason: String) -> String {
                name.padding(toLength: 11, withPad: " ", startingAt: 0) + TerminalText.escaped(reason)
            }
            return switch finding {
            case .passed: "\(style.green("ok"))    \(name)"
            case .failed(let reason): "\(style.red("FAIL"))  \(because(reason))"
            case .skipped(let reason): "\(style.dim("skip"))  \(because(reason))"
            }
        }
    }
}
