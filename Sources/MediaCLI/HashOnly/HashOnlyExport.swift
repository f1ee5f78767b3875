internal import ArgumentParser
internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

struct HashOnlyExport: ContextCommand {
    static let schema = "mediactl.hash-only-export/1"
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export a capture from the vault: the media and its depth map, or a bundle for verification.",
        discussion: """
            The hash of the media is verified before the file gets its final name. Existing files are not replaced.
            The bundle is JSON with the exact body, the signature and the public key: anyone can verify it without the server, \
            with mediactl hash-only verify --bundle or with openssl.

            Examples:
              mediactl hash-only export 5f0c2a91 --output photo.jpg
              mediactl hash-only export 5f0c2a91 --bundle photo.bundle.json
              mediactl hash-only export 5f0c2a91 --bundle evidence/
            """
    )

    @Argument("ID of the capture, or a unique prefix of it.", value: "id")
    var id: String

    @Option("Write the media to this new file.", value: .file, name: .shortAndLong)
    var output: String?

    @Option(help: .hidden, completion: .file())
    var to: String?

    private var media: String? { output ?? to }

    @Option(
        "With --output, also write the depth map to this new file: little-endian binary32, row by row.",
        value: .file
    )
    var depthTo: String?

    @Option(
        "Write a bundle for verifying the capture to this new file, or to bundle.json in a directory (DIR/).",
        value: .file("path")
    )
    var bundle: String?

    @Flag(
        help: "With --bundle, export the first submission if it is unknown whether the server has that or a later one."
    )
    var first = false

    /// The path of the bundle; for a directory, existing or to be created, the path of a file in it with the default
    /// name.
    private var bundleFile: String? {
        guard let bundle else { return nil }
        return isDirectory(bundle) ? bundleDirectory(bundle) + "/" + BundleReading.fileName : bundle
    }

    private func isDirectory(_ path: String) -> Bool {
        path.hasSuffix("/") || FileWalk.isDirectory(RawArguments.bytes(of: path))
    }

    private func bundleDirectory(_ path: String) -> String {
        let name = path.reversed().drop { $0 == "/" }
        return name.isEmpty ? "" : String(name.reversed())
    }

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(output == nil || to == nil, "--to is the deprecated name of --output; specify one of them.")
        try require(depthTo == nil || media != nil, "--depth-to requires --output.")
        try require(!first || bundle != nil, "--first requires --bundle.")
        try require(media != nil || bundle != nil, "Specify a file with --output or --bundle.")
        let targets = [media, depthTo, bundleFile].compactMap { $0 }
        guard !targets.contains(""), bundle != "" else { throw ValidationError("The path is empty.") }
        try requireFile(media, depthTo, bundle, as: "an export")
        try require(Set(targets).count == targets.count, "Each output requires its own file.")
    }

    func run(in console: Console) async throws -> ExitCode {
        if to != nil { console.note(Deprecated.note("--to", use: "--output")) }
        let context = try await CaptureContext.open(console, global, connection, for: .reading)
        let stored = try context.record(id)
        if bundle != nil { try requireSignedHash(stored, context) }
        let record = try submission(of: stored, on: console)
        try refuseExistingTargets()
        try console.requireOutput()
        try makeBundleDirectory()
        if let media {
            let session = try context.session(for: record)
            let (target, depth) = (RawArguments.bytes(of: media), depthTo.map { RawArguments.bytes(of: $0) })
            _ = try await console.context.interruption.canceling {
                try await session.export(record.id, to: target, depthTo: depth)
            }
            console.text(["exported \(TerminalText.escaped(target)); its hash matches the capture"])
            if let depth {
                console.text(["exported \(TerminalText.escaped(depth))"])
            }
        }
        if let bundle = bundleFile {
            let target = RawArguments.bytes(of: bundle)
            let text = try CaptureBundle(record).json.json(isForTerminals: true)
            if let words = CaptureSession.disagreement(in: record) {
                throw UserFacingError(
                    .checksumMismatch,
                    "capture \(record.id.prefix(8)) was changed: \(words)"
                )
            }
            try await ExportFile.write([Array(text.utf8)], to: target, until: console.context.interruption)
            console.text(["exported \(TerminalText.escaped(target)); anyone can verify it"])
        }
        return console.finish([
            "capture_id": .string(record.id), "media_hash": .string(record.mediaHash), "output": JSONValue(media),
            "depth_to": JSONValue(depthTo), "bundle": JSONValue(bundleFile),
        ])
    }

    /// The record with the submission to export.
    ///
    /// - Throws: `UserFacingError` for `--first` if there is only one submission.
    private func submission(of record: CaptureRecord, on console: Console) throws -> CaptureRecord {
        let earlier = record.earlierSubmissions?.first
        guard first else {
            if bundle != nil, earlier != nil {
                console.note("the server may have an earlier submission instead of this one; to export it, add --first")
            }
            return record
        }
        guard let earlier else {
            let id = TextRenderer.brief(record.id)
            throw UserFacingError.usage("capture \(id) has no earlier submission that the server may have")
        }
        var record = record
        record.submission = earlier
        return record
    }

    /// - Throws: `StoreError`; `UserFacingError` if the record is not signed, or is an upload of the media.
    private func requireSignedHash(_ record: CaptureRecord, _ context: CaptureContext) throws {
        let id = TextRenderer.brief(record.id)
        guard record.mode != .full else {
            throw UserFacingError.usage(
                "capture \(id) is an upload of the media itself: only the submission of a hash has a bundle",
                hint: "to export the media: mediactl hash-only export \(id) --output FILE"
            )
        }
        guard record.body == nil else { return }
        let twin = try context.library.captures(ofMedia: record.mediaHash)
            .first { $0.server == record.server && $0.state == .accepted && $0.mode != .full && $0.body != nil }
            .map { TextRenderer.brief($0.id) }
        throw UserFacingError(
            .notSigned,
            "capture \(id) is not signed" + (twin.map { "; the server has the media as capture \($0)" } ?? ""),
            hint: twin.map { "to export that capture: mediactl hash-only export \($0) --bundle FILE" }
                ?? "to sign and send it: mediactl hash-only retry \(id)"
        )
    }

    private func makeBundleDirectory() throws(CaptureError) {
        guard let bundle, isDirectory(bundle) else { return }
        let path = RawArguments.bytes(of: bundleDirectory(bundle))
        guard mkdir(path.cString, 0o777) == 0 || errno == EEXIST || path.isEmpty else {
            throw CaptureError(.targetUnusable, detail: SystemError.words(errno), path: path)
        }
    }

    /// Checks all targets first, so an existing file does not stop an export halfway. Each target is checked again when
    /// the file is renamed to it.
    private func refuseExistingTargets() throws(CaptureError) {
        for target in [media, depthTo, bundleFile].compactMap({ $0 }) {
            let path = RawArguments.bytes(of: target)
            var status = stat()
            if lstat(path.cString, &status) == 0 {
                throw CaptureError(.targetExists, path: path)
            }
        }
    }
}

/// Everything needed to verify a capture without mediactl or the server: the exact body, the signed bytes, the
/// signature and the public key. It contains nothing secret except the disclosed time and location.
struct CaptureBundle: Sendable {
    private let record: CaptureRecord
    private let body: [UInt8]
    private let signedBytes: [UInt8]
    private let assertion: Assertion
    private let key: [UInt8]

    /// - Throws: `CaptureError` `.recordUnusable` if the body is damaged; `.notSigned`.
    init(_ record: CaptureRecord) throws {
        guard let bytes = record.body, let key = record.publicKey else {
            throw CaptureError(.notSigned, value: record.id)
        }
        guard let profile = CaptureProfile(rawValue: record.profile), let body = HashOnlyBody(bytes: bytes) else {
            throw CaptureError(.recordUnusable, value: record.id)
        }
        let (payload, text) = try HashOnlyPayload.reading(body, profile: profile)
        guard let assertion = Assertion(base64: text), assertion.signature.count == 64, key.count == 65 else {
            throw CaptureError(.recordUnusable, detail: "its assertion cannot be read", value: record.id)
        }
        self.record = record
        self.body = bytes
        self.key = key
        self.assertion = assertion
        signedBytes = try payload.signedBytes(for: profile)
    }

    /// The format is defined by `docs/schemas/hash-only-bundle-1.json`.
    var json: JSONValue {
        // An invalid key in the record is reported by `CaptureSession.disagreement`.
        let pem = (try? VerifyingKey(sec1: key).pem()).map { String(decoding: $0, as: UTF8.self) }
        return .object([
            "schema": .string(BundleReading.schema), "capture_id": .string(record.id),
            "server": .string(record.server), "server_capture_id": JSONValue(record.serverCaptureID),
            "profile": .string(record.profile), "rp_id": JSONValue(record.rpID),
            "device_id": JSONValue(record.deviceID),
            "level": JSONValue(record.keyLevel), "counter": JSONValue(assertion.counter.map { Int64($0) }),
            "media_hash": .string(record.mediaHash), "observed": .bool(record.isObserved),
            "created_at": .time(record.createdAt),
            "submitted_at": .time(record.submittedAt), "body": base64(body),
            "signed_bytes": base64(signedBytes), "authenticator_data": base64(assertion.authenticatorData),
            "signature": base64(ECDSASignature.der(from: assertion.signature) ?? []), "public_key": JSONValue(pem),
        ])
    }

    /// Members of the body that are not covered by the signature: with the profile `reference`, the members of a video
    /// (hash-only contract, M9). The assertion, which contains the signature, is not included. Empty if the body cannot
    /// be read or is not signed.
    static func unsignedMembers(of record: CaptureRecord) -> [String] {
        guard let bundle = try? CaptureBundle(record), let body = JSONValue.object(in: bundle.body[...]),
            let signed = JSONValue.object(in: bundle.signedBytes[...])
        else { return [] }
        return body.map { $0.name }.filter { $0 != "assertion" && signed[$0] == nil }
    }

    private func base64(_ bytes: [UInt8]) -> JSONValue { .string(Data(bytes).base64EncodedString()) }
}
