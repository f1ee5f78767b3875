internal import ArgumentParser
internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaTransport

struct HashOnlySend: ServerCommand {
    static let schema = "mediactl.hash-only-send/1"
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Submit hashes of photos and videos; the files stay on this machine.",
        discussion: """
            The server always publishes the capture time: to the second, or only the day at the levels day-only and \
            none. At the level precise, it also publishes the coordinates. --dry-run shows exactly what would be sent.
            A photo requires --depth FILE or --no-depth. A time without a time zone is not treated as UTC: \
            without --utc-offset, only its day is submitted.
            A file is read once, hashed and encrypted in the same pass, and never modified. Captures that could not be sent \
            are stored; mediactl hash-only retry sends them.

            Examples:
              mediactl hash-only photo.jpg --depth photo.npy --dry-run
              mediactl hash-only photo.jpg --depth photo.f32 --depth-size 256x192
              mediactl hash-only send *.jpg --no-depth --location-level none
              mediactl hash-only clip.mp4 --keyframe-depth 1.npy --keyframe-depth 2.npy \\
                --hash-chain HEX:450 --frame-count 450 --duration-ms 15000
            """
    )

    @Argument("Photos and videos.", value: .file)
    var files: [String] = []

    @OptionGroup(title: "Depth") var depth: CaptureDepthOptions
    @OptionGroup(title: "Capture details") var facts: CaptureFactOptions
    @OptionGroup(title: "Media") var media: CaptureMediaOptions
    @OptionGroup(title: "Privacy") var privacy: CapturePrivacyOptions

    @Flag(help: "Also upload the media itself. Refused while privacy mode is on.")
    var sendMedia = false

    @Flag(name: .dryRun, help: "Show what would be sent and published, without using the key or the counter.")
    var dryRun = false

    @OptionGroup(title: "Connection options") var connection: UploadConnectionOptions<CaptureConnectionOptions>
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(!files.contains(""), "The path is empty.")
        try require(!files.contains("-"), "a capture\(ParseFailure.notStandardInput).")
        try require(
            !files.isEmpty || media.digest != nil,
            "Specify a file, or --digest sha256:HEX for a file that is elsewhere."
        )
        try require(
            files.isEmpty || media.digest == nil,
            "--digest cannot be combined with files."
        )
        try require(media.digest == nil || !sendMedia, "--send-media requires a file, not --digest.")
        try require(!sendMedia || !dryRun, "--dry-run cannot be combined with --send-media.")
        try require(
            !sendMedia || depth.depth != nil,
            "--send-media requires --depth FILE: a full upload includes a depth map."
        )
        let single = depth.ofOneFile + media.ofOneFile + facts.ofOneFile
        try require(
            files.count < 2 || single.isEmpty,
            "\(single.joined(separator: ", ")) can be used with only one file."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        try checkShortForm(console.context.arguments)
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        guard !privacy.coarseCoordinates || settings.settings.captureProfile.value == .reference else {
            throw UserFacingError.usage(
                "--coarse-coordinates is only for a server with the profile reference: this server accepts a city "
                    + "and country"
            )
        }
        var requests = try requests(privacy.overriding(try settings.privacySettings()))
        if !dryRun { try await chooseDepth(of: &requests, settings) }
        let run = SubmissionRun(
            settings: settings,
            requests: requests,
            kind: dryRun ? .preview : sendMedia ? .media : .proof
        )
        return try await run.run()
    }

    private func requests(_ settings: PrivacySettings) throws(UserFacingError) -> [CaptureRequest] {
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
                sendsCoarseCoordinates: privacy.coarseCoordinates,
                requiresExactTime: privacy.timestampLevel?.value == .exact
            )
        }
    }

    /// Without `send`, the parser accepts any word as a file. To avoid sending a file because of a mistyped command, a
    /// bare word is always treated as a command, and all files are checked before anything is sent.
    private func checkShortForm(_ arguments: [String]) throws {
        guard let parent = arguments.firstIndex(of: HashOnly.configuration.commandName ?? ""),
            arguments.dropFirst(parent + 1).first != Self.configuration.commandName
        else { return }
        if let word = files.first(where: { !$0.contains("/") && !$0.contains(".") }) { throw unknownCommand(word) }
        for file in files {
            do {
                _ = try SourceFile(path: RawArguments.bytes(of: file))
            } catch {
                var userFacingError = ErrorCatalog.userFacingError(of: error)
                userFacingError.message += "; nothing was sent"
                throw userFacingError
            }
        }
    }

    private func unknownCommand(_ word: String) -> UserFacingError {
        let commands = HashOnly.configuration.subcommands.map { $0._commandName }
        let name = ErrorCatalog.quoted(RawArguments.bytes(of: word))
        let hint =
            Spelling.nearest(to: word, among: commands).map { "did you mean: mediactl hash-only \($0)" }
            ?? (FileManager.default.fileExists(atPath: word)
                ? "for the file with this name, write ./\(TerminalText.escaped(word))"
                : "see mediactl hash-only --help")
        return .usage("unknown command \(name); nothing was sent", hint: hint)
    }

    /// A photo is not submitted without a choice about depth: on a terminal, the user is prompted once for all files.
    private func chooseDepth(of requests: inout [CaptureRequest], _ settings: SettingsSession) async throws {
        let profile = settings.settings.captureProfile.value
        let open = requests.indices.filter { requests[$0].needsDepthChoice(at: profile) }
        guard !open.isEmpty else { return }
        let confirmation = Confirmation(prompter: settings.prompter, isGiven: false)
        let question = "Submit \(Formats.count(open.count, "capture")) without a depth map?"
        guard settings.prompter.isAllowed, !settings.console.isJSON,
            try await confirmation.prompt([], question, on: settings.console)
        else { throw CaptureError(.depthRequired) }
        for index in open { requests[index].depth = .declined }
    }
}

/// The type of media. A video's hash chain, frame count and duration come from the camera and are never generated here.
struct CaptureMediaOptions: ParsableArguments {
    @Option("Submit the digest of a file that is elsewhere; it is recorded as not observed.", value: "sha256:hex")
    var digest: String?

    @Option("Kind of media (default: detected from the file).", value: "kind")
    var mediaType: ArgumentChoice<CaptureMediaType>?

    @Option("Last hash of the camera's hash chain over the frames, and the length of the chain.", value: "hex:length")
    var hashChain: String?

    @Option("Number of frames of the video.", value: "n")
    var frameCount: String?

    @Option("Length of the video in milliseconds.", value: "n")
    var durationMs: String?

    private var isVideo: Bool { hashChain != nil || frameCount != nil || durationMs != nil }

    func validate() throws {
        try require(
            [hashChain, frameCount, durationMs].count(where: { $0 != nil }) % 3 == 0,
            "A video requires --hash-chain, --frame-count and --duration-ms."
        )
        try require(
            !isVideo || mediaType?.value != .photo,
            "--hash-chain, --frame-count and --duration-ms are for videos."
        )
        try require(
            digest == nil || mediaType != nil || isVideo,
            "--digest requires --media-type."
        )
    }

    /// Options that apply to one file only, as written on the command line.
    var ofOneFile: [String] { isVideo ? ["--hash-chain"] : [] }

    var kind: CaptureMediaType? { mediaType?.value ?? (isVideo ? .video : nil) }

    func namedDigest() throws(UserFacingError) -> SHA256Digest? {
        try FlagValue.read(digest, "--digest", CaptureValue.digest)
    }

    func video() throws(UserFacingError) -> VideoMembers? {
        guard let chain = try FlagValue.read(hashChain, "--hash-chain", CaptureValue.hashChain),
            let frames = try FlagValue.read(frameCount, "--frame-count", CaptureValue.amount),
            let duration = try FlagValue.read(durationMs, "--duration-ms", CaptureValue.amount)
        else { return nil }
        return VideoMembers(hashChain: chain, frameCount: frames, durationMilliseconds: duration)
    }
}

/// Details of a capture specified by the user instead of taken from the file. The levels determine how much is
/// disclosed.
struct CaptureFactOptions: ParsableArguments {
    @Option("Capture location in degrees, for example 52.5163,13.3777.", value: "lat,lon", parsing: .unconditional)
    var location: String?

    @Option(
        "City and country for the level coarse (default: looked up from the location, except near a border).",
        value: "city,cc"
    )
    var place: String?

    @Option("Capture time, for example 2026-05-01T18:30:00Z.", value: "time")
    var capturedAt: String?

    @Option(
        "The camera's offset from UTC, for files whose time has no time zone, for example +02:00.",
        value: "offset",
        parsing: .unconditional
    )
    var utcOffset: String?

    @Option("Device model to publish.", value: "text")
    var deviceModel: String?

    /// Options that apply to one file only, as written on the command line.
    var ofOneFile: [String] { capturedAt == nil ? [] : ["--captured-at"] }

    func facts() throws(UserFacingError) -> CaptureFacts {
        let position = try FlagValue.read(location, "--location", CaptureValue.coordinates)
        let place = try FlagValue.read(place, "--place", CaptureValue.place)
        return CaptureFacts(
            latitude: position?.latitude,
            longitude: position?.longitude,
            city: place?.city,
            country: place?.country,
            capturedAt: try FlagValue.read(capturedAt, "--captured-at", CaptureValue.time),
            deviceModel: try FlagValue.read(deviceModel, "--device-model", CaptureValue.words),
            utcOffset: try FlagValue.read(utcOffset, "--utc-offset", CaptureValue.utcOffset)
        )
    }
}

struct CaptureDepthOptions: ParsableArguments {
    @Option("Depth map of the photo: raw little-endian binary32 in meters, PFM, NPY, or 16-bit PNG.", value: .file)
    var depth: String?

    @Option("Columns and rows of a raw depth map, for example 256x192.", value: "wxh")
    var depthSize: String?

    @Option("Meters per unit of a PNG depth map, for example 0.001.", value: "meters")
    var depthScale: String?

    @Flag(help: "Submit without a depth map.")
    var noDepth = false

    @Option("Depth map of a keyframe of the video; may be repeated, in the order of the keyframes.", value: .file)
    var keyframeDepth: [String] = []

    func validate() throws {
        let given = [depth != nil, noDepth, !keyframeDepth.isEmpty]
        try require(given.count(where: { $0 }) <= 1, "--depth, --keyframe-depth and --no-depth cannot be combined.")
        try require(
            depth != nil || !keyframeDepth.isEmpty || (depthSize == nil && depthScale == nil),
            "--depth-size and --depth-scale require --depth or --keyframe-depth."
        )
        guard depth != "", !keyframeDepth.contains("") else {
            throw ValidationError("The path of a depth map is empty.")
        }
    }

    /// Options that apply to one file only, as written on the command line.
    var ofOneFile: [String] {
        [(depth != nil, "--depth"), (!keyframeDepth.isEmpty, "--keyframe-depth")].filter(\.0).map(\.1)
    }

    func choice() throws(UserFacingError) -> CaptureRequest.Depth {
        let size = try FlagValue.read(depthSize, "--depth-size", CaptureValue.depthSize)
        let scale = try FlagValue.read(depthScale, "--depth-scale", CaptureValue.depthScale)
        let layout = DepthMapFile.Layout(width: size?.width, height: size?.height, scale: scale)
        if let depth {
            return .map(path: RawArguments.bytes(of: depth), layout: layout)
        }
        guard keyframeDepth.isEmpty else {
            return .keyframes(paths: keyframeDepth.map { RawArguments.bytes(of: $0) }, layout: layout)
        }
        return noDepth ? .declined : .unspecified
    }
}

/// How much is disclosed in this run; `hash-only settings` stores the defaults.
struct CapturePrivacyOptions: ParsableArguments {
    @Option("Location detail to disclose; coarse is city and country.", value: "level")
    var locationLevel: ArgumentChoice<LocationLevel>?

    @Option("Time detail to disclose.", value: "level")
    var timestampLevel: ArgumentChoice<TimestampLevel>?

    @Option("Device detail to disclose.", value: "level")
    var deviceLevel: ArgumentChoice<DeviceInfoLevel>?

    @Flag(
        help: """
            On a reference server, which does not accept a city, submit coordinates with one decimal at the level \
            coarse (default: omit the location).
            """
    )
    var coarseCoordinates = false

    func overriding(_ settings: PrivacySettings) -> PrivacySettings {
        var settings = settings
        settings.location = locationLevel?.value ?? settings.location
        settings.timestamp = timestampLevel?.value ?? settings.timestamp
        settings.deviceInfo = deviceLevel?.value ?? settings.deviceInfo
        return settings
    }
}

struct SubmissionRun: Sendable {
    enum Kind: Sendable {
        case proof
        /// The media is sent as well.
        case media
        /// Sends nothing.
        case preview
    }

    let settings: SettingsSession
    let requests: [CaptureRequest]
    let kind: Kind

    private var console: Console { settings.console }
    private var profile: CaptureProfile { settings.settings.captureProfile.value }

    /// - Throws: `UserFacingError`, `StoreError`, `TransportError`, `CaptureError` for errors that end the whole run.
    func run() async throws -> ExitCode {
        let server = try settings.requireServer(of: .captureURL)
        if kind == .media, requests.contains(where: { $0.settings.isPrivacyModeEnabled }) {
            throw CaptureError(.privacyModeOn)
        }
        try console.start([
            "server": .string(server.description), "profile": .string(profile.rawValue),
            "dry_run": .bool(kind == .preview), "send_media": .bool(kind == .media),
            "items": JSONValue(requests.count),
        ])
        if let time = requests.first?.facts.capturedAt, time > console.context.now() {
            console.warning("--captured-at is in the future; check the year, the zone, and this machine's clock")
        }
        guard kind != .preview else {
            return try await settings.withReadOnlyCaptures { try await run($0, server.description) }
        }
        let context = try CaptureContext.open(settings)
        try await context.adopt()
        return try await run(context, server.description)
    }

    private func run(_ context: CaptureContext, _ server: String) async throws -> ExitCode {
        let session = try kind == .preview ? context.session() : context.confidential(try context.session())
        let run = CaptureRun(settings)
        let isDone = await run.run(requests.map { job($0, session, server) }) { report($0) }
        return run.conclude(
            isDone: isDone,
            ["server": .string(server), "dry_run": .bool(kind == .preview), "send_media": .bool(kind == .media)]
        )
    }

    private func job(_ request: CaptureRequest, _ session: CaptureSession, _ server: String) -> CaptureRun.Job {
        let path: [UInt8]? = if case .file(let path) = request.subject { path } else { nil }
        let name = requests.count > 1 ? path.map { ErrorCatalog.quoted($0) + ": " } ?? "" : ""
        return CaptureRun.Job(path: path, readsMedia: path != nil) { [kind, console] control, progress in
            let warn = { @Sendable (notices: [CaptureNotice]) in
                for notice in notices where notice.isBeforeSending { console.warning(name + notice.words) }
            }
            switch kind {
            case .preview: return CaptureItem(try await session.preview(request), path: path)
            case .proof:
                return CaptureItem(
                    try await session.capture(
                        request,
                        control: control,
                        progress: progress,
                        beforeSending: warn
                    ),
                    path: path
                )
            case .media:
                // Printed before anything is sent, to prevent sending media by accident.
                let warnOfMedia = { @Sendable (notices: [CaptureNotice]) in
                    console.warning(
                        "\(path.map { ErrorCatalog.quoted($0) } ?? "the media") itself is uploaded to "
                            + "\(ErrorCatalog.clean(server)), with its depth map and metadata"
                    )
                    warn(notices)
                }
                let outcome = try await session.sendMedia(
                    request,
                    control: control,
                    progress: { progress($0.bytesAcknowledged, $0.bodyByteCount) },
                    beforeSending: warnOfMedia
                )
                return CaptureItem(outcome, path: path)
            }
        }
    }

    // MARK: Output

    private func report(_ item: CaptureItem) {
        console.result(JSONRenderer.captureItem(item), lines(for: item))
        if let preview = item.preview {
            explain(preview, item)
        }
        for notice in item.notices where item.preview == nil ? !notice.isBeforeSending : !notice.isInDisclosure {
            let words = requests.count > 1 ? "\(item.name): \(notice.words)" : notice.words
            if notice.isWarning { console.warning(words) } else { console.note(words) }
        }
        if let error = item.error, item.state != .cancelled {
            console.error(requests.count > 1 ? item.path.map { error.naming($0) } ?? error : error)
        }
    }

    private func lines(for item: CaptureItem) -> [String] {
        guard let preview = item.preview else { return TextRenderer.capture(item, style: console.outputStyle) }
        let body = String(decoding: preview.body.bytes, as: UTF8.self)
        // Escaped on a terminal; elsewhere the exact bytes that would be sent.
        return [console.context.terminal.isOutputTerminal ? JSONText.escapedForTerminals(body) : body]
    }

    private func explain(_ preview: CapturePreview, _ item: CaptureItem) {
        guard !console.isQuiet else { return }
        let size = preview.body.bytes.count
        if preview.isSubmitted, let earlier = preview.earlierID {
            let id = ErrorCatalog.clean(String(earlier.prefix(8)))
            return console.note("\(item.name) would not be submitted: the same media was submitted earlier, as \(id)")
        }
        console.note("\(item.name) would be submitted as shown above (\(size) bytes); the assertion is a placeholder")
        console.note("disclosed data:")
        console.announce(CaptureDisclosure.lines(preview.payload, preview.timeSource))
        if let earlier = preview.earlierID {
            let id = ErrorCatalog.clean(String(earlier.prefix(8)))
            console.note("the same media is already stored on this machine as \(id)")
        }
    }
}
