internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Outcomes

/// The request that turns a finished tus upload into a stored file (gighive contract 4.2, for guests section 6).
struct FinalizeRequest {
    /// Longer than the server's own limit of 300 s.
    static let shortestResponseLimit = Duration.seconds(330)

    /// Whether the application accepts an upload ID (gighive contract 4.1).
    static func canName(_ tusID: String) -> Bool {
        !tusID.isEmpty && tusID.utf8.allSatisfy(TextFields.isOfName)
    }

    private let uploader: Uploader
    let timeouts: TransferTimeouts
    private let body: JSONObject
    private let sizeBytes: Int64

    init(_ tusID: String, details: UploadDetails, sizeBytes: Int64, _ uploader: Uploader) {
        self.sizeBytes = sizeBytes
        self.uploader = uploader
        var timeouts = uploader.options.timeouts
        timeouts.response = max(timeouts.response, Self.shortestResponseLimit)
        self.timeouts = timeouts
        var members: JSONObject = ["upload_id": .string(tusID)]
        if let guest = uploader.options.guest {
            members["label"] = .string(details.label)
            members["tos_accepted"] = .bool(guest.acceptsTerms)
            members["display_name"] = guest.displayName.map(JSONValue.string)
        } else {
            // All details are sent again, although tus has them as metadata: this is where corrections are sent.
            members = members + JSONObject(details.fields.map { ($0.name, .string($0.value)) })
        }
        body = members
    }

    /// Sends the request at most once.
    func send(
        rescue: RescueRecord,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async -> RescuedResponse {
        var request = uploader.client.post("/api/uploads/finalize", json: body)
        request.timeouts = timeouts
        let observer = control.observeStop { onEvent(.waitingForToken) }
        defer { control.endObserving(observer) }
        return await uploader.execute(request, rescue: rescue, control: control) { [sizeBytes] progress in
            guard progress.phase == .processing else { return }
            UploadFailpoint.finalizeSent.reach()
            onEvent(
                .progress(TransferProgress(phase: .processing, bytesAcknowledged: sizeBytes, bodyByteCount: sizeBytes))
            )
        }
    }
}

/// The meaning of a response to a finalize request, or of its absence (gighive contract 4.3 and 4.4).
enum FinalizeVerdict: Sendable {
    /// Now on the server, according to the response. Whether a missing token is lost depends on earlier requests.
    case stored(UploadResponse)
    /// Refused because the server has the bytes; the upload ID is used up. To be confirmed.
    case duplicate(UploadResponse)
    /// The database refused a row because another upload wrote the same key first (trap T19): the server has finished,
    /// may or may not have the file, and may have consumed the uploaded data.
    case collided(GigHiveError)
    /// The server has not completed the upload, although it may report all its bytes: retry a little later (gighive-d4
    /// contract section 10).
    case pending(GigHiveError)
    /// The server can never complete the upload.
    case dead(GigHiveError)
    /// Stored, then deleted.
    case deleted(GigHiveError)
    /// tus has not notified the application yet that the upload is complete: retry a little later (trap T9).
    case tooEarly(GigHiveError)
    /// The application does not have the upload ID.
    case unknownUpload(GigHiveError)
    /// The bytes were used by another finalize request, which succeeded, was refused as a duplicate, or is running now.
    case usedUp(GigHiveError)
    /// Refused; the bytes stay on the server, and the same ID can be finalized again.
    case refused(GigHiveError, mayRepeat: Bool)
    /// The server does not accept this type of file, regardless of the details: the bytes on the server are useless.
    case unsupportedMedia(GigHiveError)
    /// The script has failed, perhaps after storing the file (trap T7). It is no longer running.
    case broken(GigHiveError)
    /// The server may still be working on the upload, or may have stored it.
    case lost(GigHiveError)

    var isStored: Bool { if case .stored = self { true } else { false } }

    static func of(_ response: UploadResponse, head: HTTPResponseHead) -> FinalizeVerdict {
        let isJSON = response.form == .json
        var error = GigHiveError.ofResponse(
            head,
            message: response.message ?? response.error,
            isJSON: isJSON,
            to: .finalize
        )
        let asGuest = OutcomeTable.outcome(of: head.status, from: .gigHive, to: .guest, mark: response.error)
        if isJSON, asGuest.code == .invalidEventLink { error.code = asGuest.code }
        if response.deleteToken != nil, !(200..<300).contains(head.status), head.status != 409 {
            // The token contradicts the status: the server has finished, and is queried.
            return .broken(error)
        }
        switch head.status {
        case 200..<300:
            return success(response)
        case 300..<400:
            // Redirects are not followed. The server has finished, and may have stored the file first.
            return .broken(error)
        case 400 where isJSON && response.message == "Unsupported media type":
            return .unsupportedMedia(error)
        case 400:
            error.field = correctableField(response.message)
            return .refused(error, mayRepeat: false)
        case 409:
            return .duplicate(response)
        case 400..<500 where !UploadVerdict.refusals.contains(head.status):
            // Sent by a proxy; the application behind it may still be running.
            return .lost(error)
        case 500:
            return failure(response, error)
        case 501:
            return .refused(error, mayRepeat: false)
        case 503:
            // The web server responds in place of an application that is not running (trap T24).
            return .refused(error, mayRepeat: true)
        case 502...:
            // Sent by a proxy; the application behind it may continue.
            return .lost(error)
        default:
            return .refused(error, mayRepeat: false)
        }
    }

    /// A truncated response is judged by its status; only a success requires its body.
    static func of(_ outcome: RescuedResponse.Outcome) -> FinalizeVerdict {
        switch outcome {
        case .complete(let content, let response): return of(content, head: response.head)
        case .failed(let failure, let response):
            let error = GigHiveError.transport(failure)
            guard let response, let head = failure.head else {
                // A server that has not received the whole request cannot act on it.
                return failure.metrics.bodyComplete
                    ? .lost(error) : .refused(error, mayRepeat: error.isRetryable)
            }
            switch of(response, head: head) {
            case .lost, .broken: return .lost(error)
            case let verdict: return verdict
            }
        }
    }

    private static func success(_ response: UploadResponse) -> FinalizeVerdict {
        if response.isPending {
            let detail = "the server has not completed the upload yet"
            return .pending(
                GigHiveError(.unexpectedResponse, detail: detail, httpStatus: response.status, isRetryable: true)
            )
        }
        if response.isOfDeletedFile {
            let detail = "the file was stored, and has been deleted from the server since"
            return .deleted(
                GigHiveError(.uploadExpired, detail: detail, httpStatus: response.status)
                    .with(\.fileID, response.fileID)
            )
        }
        if response.reportsStored {
            return .stored(response)
        }
        return .broken(response.asHollowSuccess)
    }

    private static func failure(_ response: UploadResponse, _ error: GigHiveError) -> FinalizeVerdict {
        if error.code == .serverRace {
            return .collided(error)
        }
        let message = response.message ?? ""
        let failure = failures.first { $0.words.contains { message.contains($0) } }
        return failure?.verdict(error) ?? .broken(error)
    }

    /// The meaning of the messages of a failed script (gighive contract 4.3 and 4.4).
    private static let failures: [(words: [String], verdict: @Sendable (GigHiveError) -> FinalizeVerdict)] = [
        (["Upload failed: upload_id="], { .dead($0) }),
        (["Upload not found: upload_id="], { .unknownUpload($0) }),
        (["hook output has not been written yet", "Upload not found or not finished yet"], { .tooEarly($0) }),
        (["no data or hook record"], { .unknownUpload($0) }),
        (["Upload data missing on disk", "Failed to move file (rename)"], { .usedUp($0) }),
        (["Uploaded file is empty"], { .refused($0, mayRepeat: false) }),
    ]

    /// The field that a 400 response concerns, if the user can correct it (gighive contract 2.5 and section 6).
    private static func correctableField(_ message: String?) -> String? {
        switch message {
        case let message? where message.hasPrefix("Label is required"): "label"
        case let message? where message.hasPrefix("Invalid event_date"): "event_date"
        case let message? where message.hasPrefix("Missing or invalid token-mode fields"): "label"
        default: nil
        }
    }
}
