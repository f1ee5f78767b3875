internal import ArgumentParser
internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

struct HashOnlyVerify: ContextCommand {
    static let schema = "mediactl.hash-only-verify/1"
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a file against its capture: the record, the signature, the vault, the server.",
        discussion: """
            The file is hashed on this machine and never sent. The server that has the capture is queried; with \
            --server, only captures for that server are considered. Local checks are printed regardless of the \
            server's response. Exits with 8 if anything differs, with 12 if only the copy in the vault is missing, \
            with 5 if no capture of the file is stored; with the code of the refusal if the server refused the \
            capture; if only the server or the vault could not be checked, with the code of that error.
            With --bundle, a bundle written by mediactl hash-only export is verified on any machine, without a store, \
            key or network. The members that the signature does not cover are listed.

            Examples:
              mediactl hash-only verify photo.jpg
              mediactl hash-only verify photo.jpg --offline
              mediactl hash-only verify --bundle evidence/
            """
    )

    @Argument("The file (optional with --bundle).", value: .file)
    var file: String?

    @Option("Verify this bundle, or the bundle.json and the media in this directory.", value: .file("path"))
    var bundle: String?

    @Flag(help: "Do not query the server.")
    var offline = false

    @OptionGroup(title: "Connection options") var connection: CaptureConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(file != nil || bundle != nil, "Specify a file, or --bundle.")
        guard file != "", bundle != "" else { throw ValidationError("The path is empty.") }
        try require(
            bundle == nil || connection.choice.server == nil,
            "--server cannot be combined with --bundle: a bundle is verified without the server."
        )
        let unused = (bundle == nil ? connection.network.flags : connection.flags).names.sorted()
        try require(
            bundle == nil && !offline || unused.isEmpty,
            "\(unused.joined(separator: ", ")) cannot be combined with \(bundle == nil ? "--offline" : "--bundle")."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        let path = file.map { RawArguments.bytes(of: $0) }
        if let bundle {
            let reading = try await console.context.interruption.canceling {
                try await BundleReading(RawArguments.bytes(of: bundle), media: path)
            }
            return report(reading.verification, reading.media ?? reading.path, bundle: reading, on: console)
        }
        guard let path else { throw CaptureError(.internalError) }
        let context = try await CaptureContext.open(console, global, connection, for: .reading)
        try console.requireOutput()
        let (verification, failure) = try await console.context.interruption.canceling {
            try await verify(path, context)
        }
        let options = context.hintOptions(for: verification.record)
        return report(verification, path, failure: failure, reaching: options, on: console)
    }

    /// The second value is the reason why the server could not be queried.
    private func verify(
        _ path: [UInt8],
        _ context: CaptureContext
    ) async throws -> (CaptureVerification, UserFacingError?) {
        let file = try SourceFile(path: path)
        guard try context.library.hasCaptures() else {
            throw CaptureError(.captureUnknown, detail: "no captures are stored", path: file.path)
        }
        let session = try context.anySession()
        let scope = try connection.choice.scope(context.settings, of: .captureURL)
        let match = try await session.find(.file(path)) { $0.isAt(scope) }
        // Query the server that has the capture, regardless of the configured server.
        let querying: CaptureSession
        do {
            let own = try context.session(for: match.record)
            context.settings.trusts.name(own.client.server.origin)
            querying = offline ? own : try context.confidential(own)
        } catch {
            let failure = ErrorCatalog.userFacingError(of: error)
            var verification = try await session.verify(match, isOffline: true)
            verification.findings = verification.findings.map { check, finding in
                (check, check == .server && !offline ? .skipped(failure.message) : finding)
            }
            return (verification, failure)
        }
        return (try await querying.verify(match, isOffline: offline), nil)
    }

    /// `failure` is the reason why the server was not queried; `bundle` was verified instead of the store. `options`
    /// contains the options with which printed commands use the capture's server.
    private func report(
        _ verification: CaptureVerification,
        _ path: [UInt8],
        bundle: BundleReading? = nil,
        failure: UserFacingError? = nil,
        reaching options: HintOptions = HintOptions(),
        on console: Console
    ) -> ExitCode {
        console.records(.item, verification.findings.map { JSONRenderer.finding($0, $1) })
        let record = verification.record
        let unsigned = bundle?.unsignedMembers ?? CaptureBundle.unsignedMembers(of: record)
        console.text(
            TextRenderer.verification(verification, style: console.outputStyle) + TextRenderer.unsigned(unsigned)
        )
        let failure =
            failure
            ?? (verification.errors.first ?? (bundle == nil ? record.refusal : nil))
            .map { ErrorCatalog.userFacingError(of: $0, in: .verification) }
        var result = ExitCode.success
        if !verification.isGood {
            let error = mismatch(verification, path).reaching(options)
            result = error.exitCode
            console.error(error)
        } else if let failure {
            result = failure.exitCode
            console.error(failure.reaching(options))
        } else if let bundle {
            console.note("signed with the key whose SHA-256 is \(bundle.keyHash)")
            console.note("only the server can confirm that this is the key of the device, and when it signed")
        } else {
            let isSigned = verification.findings.contains { $0.check == .signature && $0.finding == .passed }
            let key = isSigned ? record.keyLevel.map { TextRenderer.key(level: $0) } : nil
            let level = key.map { ", signed with a " + $0 } ?? ""
            console.note("\(ErrorCatalog.quoted(path)) matches capture \(TextRenderer.brief(record.id))\(level)")
        }
        let ending = console.ending(result)
        func count(_ result: String) -> JSONValue {
            JSONValue(verification.findings.count { JSONRenderer.result(of: $0.finding) == result })
        }
        return ending.summary([
            "path": .path(path), "capture_id": .string(record.id), "server": .string(record.server),
            "server_capture_id": JSONValue(record.serverCaptureID), "media_hash": .string(record.mediaHash),
            "level": JSONValue(record.keyLevel), "offline": .bool(offline || bundle != nil),
            "bundle": .path(bundle?.path), "key_sha256": JSONValue(bundle?.keyHash),
            "items": JSONValue(verification.findings.count), "passed": count("passed"),
            "failed": count("failed"), "skipped": count("skipped"),
            "unsigned_members": .array(unsigned.map { .string($0) }),
            "confidence_level": JSONValue(verification.remote?.confidenceLevel),
        ])
    }

    /// The error for failed checks. A lost copy in the vault is not a mismatch between file and capture.
    private func mismatch(_ verification: CaptureVerification, _ path: [UInt8]) -> UserFacingError {
        let id = TextRenderer.brief(verification.record.id)
        let failed = verification.findings.filter { if case .failed = $0.finding { true } else { false } }.map(\.check)
        if failed == [.vault],
            let error = verification.errors.first(where: { [.mediaMissing, .mediaDamaged].contains($0.code) })
        {
            return ErrorCatalog.userFacingError(of: error)
        }
        let isLost = verification.errors.contains { $0.code == .captureNotFound }
        let names = failed.map { $0.rawValue.replacing("_", with: " ") }.joined(separator: ", ")
        return UserFacingError(
            .checksumMismatch,
            "\(ErrorCatalog.quoted(path)) does not match capture \(id) (failed: \(names))",
            hint: isLost ? "to submit it again: \(CaptureItem(planned: verification.record).submitAgain)" : nil
        )
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
    static func unsigned(_ members: [String]) -> [String] {
        guard !members.isEmpty else { return [] }
        return ["not covered by the signature: " + members.map { ErrorCatalog.clean($0) }.joined(separator: ", ")]
    }

    static func verification(_ verification: CaptureVerification, style: Style) -> [String] {
        verification.findings.map { check, finding in
            let name = check.rawValue.replacing("_", with: " ")
            func because(_ reason: String) -> String {
                name.padding(toLength: 11, withPad: " ", startingAt: 0) + TerminalText.escaped(reason)
            }
            return switch finding {
            case .passed: "\(style.green("ok"))    \(name)"
            case .failed(let reason): "\(style.red("FAIL"))  \(because(reason))"
            case .skipped(let reason): "\(style.dim("skip"))  \(because("not checked: " + reason))"
            }
        }
    }
}
