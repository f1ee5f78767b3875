internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// The request that turns a finished tus upload into a stored file (gighive contract 4.2, for guests section 6).
struct FinalizeRequest {
    /// No client limit is shorter than what the server may take: its own limit of 300 s, and some more.
    static let shortestAnswerLimit = Duration.seconds(330)

    /// Whether the application takes an upload id (gighive contract 4.1).
    static func canName(_ tusID: String) -> Bool {
        !tusID.isEmpty
            && tusID.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f: true
                default: false
                }
            }
    }

    private let client: GigHiveClient
    let timeouts: TransferTimeouts
    private let body: String
    private let sizeBytes: Int64

    init(_ tusID: String, details: UploadDetails, sizeBytes: Int64, _ uploader: Uploader) {
        self.sizeBytes = sizeBytes
        client = uploader.client
        var timeouts = uploader.options.timeouts
        timeouts.answer = max(timeouts.answer, Self.shortestAnswerLimit)
        self.timeouts = timeouts
        var members: [(name: String, value: JSONText.Value)] = [("upload_id", .string(tusID))]
        if let guest = uploader.options.guest {
            members += [("label", .string(details.label)), ("tos_accepted", .bool(guest.acceptsTerms))]
            if let name = guest.displayName {
                members.append(("display_name", .string(name)))
            }
        } else {
            // All of it again, although tus has it as metadata: corrections are told here.
            members += details.fields.map { ($0.name, .string($0.value)) }
        }
        body = JSONText.object(members)
    }

    /// Sends it, at most once. The response is in the rescue log, on the disk, before it is parsed.
    func send(
        rescue: RescueRecord,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async -> FinalizeAnswer {
        let collector = ReplyCollector(rescue)
        var request = client.post("/api/uploads/finalize", json: body)
        request.timeouts = timeouts
        request.destination = .receiver(collector)
        let watcher = Task {
            _ = await control.waitForStop()
            // The wait also ends when this task is cancelled.
            if control.isStopRequested, !Task.isCancelled {
                onEvent(.waitingForToken)
            }
        }
        defer { watcher.cancel() }
        let outcome: Result<HTTPResponse, TransportError>
        do {
            let response = try await client.http.execute(request, control: control) { [sizeBytes] progress in
                guard progress.phase == .processing else { return }
                KillPoint.finalizeSent.reach()
                onEvent(
                    .progress(
                        TransferProgress(phase: .processing, bytesAcknowledged: sizeBytes, bodyByteCount: sizeBytes)
                    )
                )
            }
            outcome = .success(response)
        } catch {
            outcome = .failure(error)
        }
        let (received, rescueError) = await collector.finished()
        KillPoint.replyInRescueFile.reach()
        switch outcome {
        case .success(let response):
            let reply = UploadReply.parse(status: response.status, body: received, isComplete: true)
            return FinalizeAnswer(
                verdict: .of(reply, head: response.head),
                status: response.status,
                reply: reply,
                rescueError: rescueError
            )
        case .failure(let failure):
            let reply = failure.head.map { UploadReply.parse(status: $0.status, body: received) }
            return FinalizeAnswer(
                verdict: .of(failure, reply: reply),
                status: failure.head?.status,
                reply: reply,
                rescueError: rescueError
            )
        }
    }
}

/// What came of one finalize request.
struct FinalizeAnswer: Sendable {
    /// What it says about the upload.
    var verdict: FinalizeVerdict
    /// Status of the answer, if one had begun.
    var status: Int?
    /// What the response contains; nil if none had begun.
    var reply: UploadReply?
    /// Why the rescue log does not contain the whole response.
    var rescueError: StoreError?
    /// The server's release, if the response is about a file of the event.
    var dialect: UploadReply.Dialect? { reply?.dialect }
}
