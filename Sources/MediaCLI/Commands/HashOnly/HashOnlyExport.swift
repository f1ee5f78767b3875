internal import ArgumentParser
internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// `mediactl hash-only export ID`
struct HashOnlyExport: ContextCommand {
    static let schema = "mediactl.hash-only-export/1"
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Take a capture out of the vault: the media, its depth map, or what others need to check it.",
        discussion: """
            The hash of the media is compared before the file gets its name. Existing files are left as they are.
            The bundle is JSON with the exact body, the signature and the public key: anybody can check it with openssl, \
            without this program and without the server.

            Examples:
              mediactl hash-only export 5f0c2a91 --output photo.jpg
              mediactl hash-only export 5f0c2a91 --bundle photo.bundle.json
            """
    )

    @Argument(help: ArgumentHelp("Its id, or the first characters of it.", valueName: "id"))
    var id: String

    @Option(
        name: [.customShort("o"), .customLong("output"), .long],
        help: ArgumentHelp("Write the media to this new file.", valueName: "file"),
        completion: .file()
    )
    var to: String?

    @Option(
        help: ArgumentHelp(
            "Write the depth map to this new file: little-endian binary32, row by row.",
            valueName: "file"
        ),
        completion: .file()
    )
    var depthTo: String?

    @Option(
        help: ArgumentHelp("Write what is needed to check the capture to this new file.", valueName: "file"),
        completion: .file()
    )
    var bundle: String?

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard to != nil || bundle != nil else { throw ValidationError("Name a file with --output or --bundle.") }
        guard depthTo == nil || to != nil else { throw ValidationError("--depth-to goes with --output.") }
        let targets = [to, depthTo, bundle].compactMap { $0 }
        guard !targets.contains("") else { throw ValidationError("An empty path.") }
        guard Set(targets).count == targets.count else { throw ValidationError("Each needs a file of its own.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let stage = try await CaptureStage.open(console, global, connection)
        let record = try stage.record(id)
        try refuseExistingTargets()
        try console.requireOutput()
        if let to {
            let session = try stage.session(for: record)
            let (target, depth) = (RawArguments.bytes(of: to), depthTo.map { RawArguments.bytes(of: $0) })
            _ = try await console.context.interruption.cancelling {
                try await session.export(record.id, to: target, depthTo: depth)
            }
            console.text(["exported \(TerminalText.escaped(target)): its hash is that of the capture"])
            if let depth {
                console.text(["exported \(TerminalText.escaped(depth))"])
            }
        }
        if let bundle {
            let target = RawArguments.bytes(of: bundle)
            let text = try CaptureBundle(record).json.text
            if let words = CaptureSession.disagreement(in: record) {
                throw Diagnosis(
                    "checksum_mismatch",
                    "capture \(record.id.prefix(8)) was changed: \(words)",
                    exitCode: .integrity
                )
            }
            try await ExportFile.write([Array(text.utf8)], to: target, until: console.context.interruption)
            console.text(["exported \(TerminalText.escaped(target)): anybody can check it"])
        }
        console.summary([
            "capture_id": .string(record.id), "media_hash": .string(record.mediaHash), "output": JSONValue(to),
            "depth_to": JSONValue(depthTo), "bundle": JSONValue(bundle), "exit_code": 0,
        ])
        return console.exitCode(.success)
    }

    /// Looks at all of them first, so that no export is half done. Each is looked at again when it gets its name.
    private func refuseExistingTargets() throws(CaptureError) {
        for target in [to, depthTo, bundle].compactMap({ $0 }) {
            let path = RawArguments.bytes(of: target)
            var status = stat()
            if lstat(path.cString, &status) == 0 {
                throw CaptureError(.targetExists, path: path)
            }
        }
    }
}
