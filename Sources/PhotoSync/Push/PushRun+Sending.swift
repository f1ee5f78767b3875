internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

extension PushRun {
    /// Sends photos that the server lacks: one after the other until one of them was seen in the own listing, then several
    /// at a time.
    ///
    /// - Throws: What ends the run; files that were not begun stay open in the block.
    func send(_ photos: [PhotoToSend], _ block: inout PushBlock) async throws {
        var waiting = photos[...]
        while !isOwnershipProven, let photo = waiting.popFirst() {
            let before = try await account.client.status(device: account.deviceID).totalPhotos
            let outcome = await outcome(of: photo)
            try take(photo, outcome, &block)
            if case .success(let sent) = outcome, !sent.receipt.isDuplicate {
                try await proveOwnership(of: sent, totalBefore: before)
            }
            try stopIfAsked()
        }
        try await sendTogether(waiting, &block)
    }

    private var sender: PhotoSender {
        PhotoSender(
            client: account.client,
            deviceID: account.deviceID ?? "",
            retry: options.retry,
            control: control,
            report: report
        )
    }

    private typealias SendOutcome = Result<SentPhoto, SendFailure>

    private func outcome(of photo: PhotoToSend) async -> SendOutcome {
        await Self.outcome(of: photo, by: sender)
    }

    private static func outcome(of photo: PhotoToSend, by sender: PhotoSender) async -> SendOutcome {
        do {
            return .success(try await sender.send(photo))
        } catch {
            return .failure(error)
        }
    }

    private func sendTogether(_ photos: ArraySlice<PhotoToSend>, _ block: inout PushBlock) async throws {
        var waiting = photos
        var ending: (any Error)?
        let sender = sender
        await withTaskGroup(of: (PhotoToSend, SendOutcome).self) { group in
            var running = 0
            while true {
                while running < max(1, options.jobs), ending == nil, !control.isStopRequested,
                    let photo = waiting.popFirst()
                {
                    running += 1
                    group.addTask { (photo, await Self.outcome(of: photo, by: sender)) }
                }
                guard let (photo, outcome) = await group.next() else { return }
                running -= 1
                do {
                    try take(photo, outcome, &block)
                } catch {
                    ending = ending ?? error
                }
            }
        }
        if let ending { throw ending }
        try stopIfAsked()
    }

    /// Notes how a file was answered for.
    ///
    /// - Throws: The failure, when no other file would fare better.
    private func take(_ photo: PhotoToSend, _ outcome: SendOutcome, _ block: inout PushBlock) throws(PhotoSyncError) {
        block.close(photo)
        switch outcome {
        case .success(let sent):
            lostInARow = 0
            unconfirmed.append(sent)
            report.progress { $0.filesSent += 1 }
            SyncKillPoint.pushAfterUpload.reach()
        case .failure(let failure):
            end(photo, failure.error.code == .cancelled ? .cancelled : .failed, failure: failure)
            lostInARow = failure.error.code == .transport ? lostInARow + 1 : 0
            if failure.error.concernsEveryFile || lostInARow >= Self.mostLostInARow { throw failure.error }
        }
    }

    /// The server is gone, not only hard to reach.
    private static let mostLostInARow = 3

    // MARK: Ownership

    /// Looks whether the photo that was just sent belongs to the user. Servers with the defect of the published build
    /// record no owner, hide the photo from the listing, and delete it within the hour (photosync contract 3.5).
    ///
    /// - Throws: `.ownershipDefect` when the listing does not show it and the count has not grown. A count that has grown
    ///   may be another device's doing: the next upload is looked at then.
    private func proveOwnership(of sent: SentPhoto, totalBefore: Int64) async throws {
        try await pull()
        if try await own.withIDs([sent.receipt.id]).isEmpty {
            let total = try await account.client.status(device: account.deviceID).totalPhotos
            guard total <= totalBefore else { return }
            try await own.remember(isOwned: false)
            throw PhotoSyncError(
                .ownershipDefect,
                detail: "the server does not record whose photo it is",
                photoID: sent.receipt.id
            )
        }
        isOwnershipProven = true
        try await own.remember(isOwned: true)
    }

}

extension PhotoSyncError {
    /// Whether any other upload would fail in the same way (photosync contract 1.1, 3.1 and section 0).
    fileprivate var concernsEveryFile: Bool {
        switch code {
        case .unauthorized, .forbidden, .setupRequired, .invalidDevice, .redirected, .notLoggedIn: true
        default: false
        }
    }
}
