internal import ArgumentParser
internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaFiles

/// `mediactl hash-only [send] FILE…`
struct HashOnlySend: ContextCommand {
    static let schema = "mediactl.hash-only-send/1"
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Prove photos and videos: send their hashes, keep them here.",
        discussion: """
            When it was taken is public at the server always: the second, or only the day at the levels day-only and none. \
            At the level precise so are the coordinates. --dry-run shows exactly what would be sent.
            A file is read once, hashed and encrypted in the same pass, and never changed. What could not be sent is kept; \
            mediactl hash-only retry goes on with it.

            Examples:
              mediactl hash-only photo.jpg --depth photo.npy --dry-run
              mediactl hash-only photo.jpg --depth photo.f32 --depth-size 256x192
              mediactl hash-only send *.jpg --no-depth --location-level none
              mediactl hash-only clip.mp4 --keyframe-depth 1.npy --keyframe-depth 2.npy \\
                --hash-chain HEX:450 --frame-count 450 --duration-ms 15000
            """
    )

    @Argument(help: ArgumentHelp("Photos and videos.", valueName: "file"), completion: .file())
    var files: [String] = []

    @OptionGroup(title: "Depth") var depth: CaptureDepthOptions
    @OptionGroup(title: "Facts") var facts: CaptureFactOptions
    @OptionGroup(title: "Media") var media: CaptureMediaOptions
    @OptionGroup(title: "Privacy") var privacy: CapturePrivacyOptions

    @Flag(help: "Send the media itself as well: an ordinary upload. Refused while privacy mode is on.")
    var sendMedia = false

    @Flag(help: "Only show what would be sent, and what becomes public. No counter and no key is used.")
    var dryRun = false

    @OptionGroup(title: "Connection options") var connection: CaptureConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !files.contains("") else { throw ValidationError("An empty path.") }
        guard !files.isEmpty || media.digest != nil else {
            throw ValidationError("Name a file, or give --digest sha256:HEX for one that is not here.")
        }
        guard files.isEmpty || media.digest == nil else {
            throw ValidationError("--digest is for a file that is not here; name one or the other.")
        }
        guard media.digest == nil || !sendMedia else {
            throw ValidationError("--send-media needs the file itself.")
        }
        guard !sendMedia || !dryRun else {
            throw ValidationError("--dry-run shows what goes without the media; leave --send-media out.")
        }
        guard !sendMedia || depth.depth != nil else {
            throw ValidationError("--send-media needs --depth FILE: a full upload has a depth map in it.")
        }
        let single = depth.ofOneFile + media.ofOneFile + facts.ofOneFile
        guard files.count < 2 || single.isEmpty else {
            throw ValidationError("\(single.joined(separator: ", ")) concerns one file; name one.")
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        try refuseMistakenCommand()
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let requests = try requests(privacy.overriding(try settings.privacySettings()))
        let run = SubmissionRun(
            settings: settings,
            requests: requests,
            kind: dryRun ? .preview : sendMedia ? .media : .proof,
            writesProgressRecords: global.progressEvents
        )
        return try await run.run()
    }

    private func requests(_ settings: PrivacySettings) throws(Diagnosis) -> [CaptureRequest] {
        let depth = try depth.choice()
        let facts = try facts.facts()
        let video = try media.video()
        let digest = try media.namedDigest()
        let subjects: [CaptureRequest.Subject] =
            digest.map { [.digest($0)] } ?? files.map { .file(RawArguments.bytes(of: $0)) }
        return subjects.map {
            CaptureRequest(
                $0,
                mediaType: media.kind,
                depth: depth,
                facts: facts,
                video: video,
                settings: settings,
                sendsCoarseCoordinates: privacy.coarseCoordinates
            )
        }
    }

    /// A misspelt command, and what follows it, are files to the parser; it is told from one by there being none.
    private func refuseMistakenCommand() throws(Diagnosis) {
        guard let word = files.first, !word.contains("/"), !word.contains("."),
            !FileManager.default.fileExists(atPath: word)
        else { return }
        let commands = HashOnly.configuration.subcommands.map { $0._commandName }
        guard let command = Spelling.nearest(to: word, among: commands) else { return }
        var diagnosis = ErrorCatalogue.diagnosis(of: CaptureError(.fileNotFound, path: RawArguments.bytes(of: word)))
        diagnosis.hint = "did you mean: mediactl hash-only \(command)"
        throw diagnosis
    }
}
