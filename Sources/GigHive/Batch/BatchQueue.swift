internal import MediaStore
internal import MediaSystem
internal import Synchronization

/// The items of a batch in the order they are begun, and which of them are the same file.
///
/// Items of one file are begun one after another: while the first runs, those that come to their turn wait without
/// holding a slot.
final class BatchQueue: Sendable {
    let items: [UploadBatch.Item]
    private let order: [Int]
    /// The file of an item, where the batch names that file more than once.
    private let files: [Int: Int]
    private let state = Mutex(State())

    private struct State {
        var position = 0
        /// Items whose turn has come while their file is being sent; no entry for a file that is not.
        var waiting: [Int: [Int]] = [:]
        var outcomes: [Outcome: UploadResult] = [:]
        /// Items that have been begun and have not ended.
        var underWay = 0
        /// Items put behind all others, and those that ever were.
        var postponed: [Int] = []
        var everPostponed: Set<Int> = []
    }

    /// What is sent once: a file to an event (gighive contract section 3).
    private struct Outcome: Hashable {
        var file: Int
        var eventDate: String
        var orgName: String

        init(file: Int, _ details: UploadDetails) {
            self.file = file
            eventDate = details.eventDate
            orgName = details.orgName
        }
    }

    /// Orders the items and finds those of one file; `digests` are what is known of each without reading it.
    init(_ items: [UploadBatch.Item], order: UploadBatch.Order, digests: [String?]) {
        self.items = items
        self.order =
            switch order {
            case .asGiven: Array(items.indices)
            case .largestFirst: items.indices.sorted { (-items[$0].sizeBytes, $0) < (-items[$1].sizeBytes, $1) }
            }
        files = Self.files(of: items, digests)
    }

    private static func files(
        of items: [UploadBatch.Item],
        _ digests: [String?]
    ) -> [Int: Int] {
        var firstByInode: [Inode: Int] = [:]
        var firstByDigest: [String: Int] = [:]
        var files: [Int: Int] = [:]
        for index in items.indices {
            guard case .ready(let upload) = items[index], let identity = upload.identity else { continue }
            let inode = Inode(device: identity.device, inode: identity.inode)
            let digest = digests[index]
            guard let first = firstByInode[inode] ?? digest.flatMap({ firstByDigest[$0] }) else {
                firstByInode[inode] = index
                if let digest {
                    firstByDigest[digest] = index
                }
                continue
            }
            let file = files[first] ?? first
            firstByInode[inode] = file
            files[first] = file
            files[index] = file
        }
        return files
    }

    private struct Inode: Hashable {
        var device: UInt64
        var inode: UInt64
    }

    /// Whether no other item names the same file.
    func isNamedOnce(_ index: Int) -> Bool { files[index] == nil }

    /// The next item to begin, for a slot that has ended `last`.
    ///
    /// - Returns: nil when there is none.
    func next(after last: Int?) -> Int? {
        state.withLock { state in
            if last != nil {
                state.underWay -= 1
            }
            let index = waiting(for: last, &state) ?? firstThatMayBegin(&state)
            if index != nil {
                state.underWay += 1
            }
            return index
        }
    }

    /// The next item of the file that has just ended.
    private func waiting(for last: Int?, _ state: inout State) -> Int? {
        guard let file = last.flatMap({ files[$0] }), var waiting = state.waiting[file] else { return nil }
        guard !waiting.isEmpty else {
            state.waiting[file] = nil
            return nil
        }
        let index = waiting.removeFirst()
        state.waiting[file] = waiting
        return index
    }

    /// The next item whose file is not being sent by this batch.
    private func firstThatMayBegin(_ state: inout State) -> Int? {
        while let index = nextInOrder(&state) {
            guard let file = files[index] else { return index }
            if state.waiting[file] == nil {
                state.waiting[file] = []
                return index
            }
            state.waiting[file]?.append(index)
        }
        return nil
    }

    /// Those that were put back come when nothing else is under way: whoever ends last takes them.
    private func nextInOrder(_ state: inout State) -> Int? {
        guard state.position < order.count else {
            return state.underWay > 0 || state.postponed.isEmpty ? nil : state.postponed.removeFirst()
        }
        defer { state.position += 1 }
        return order[state.position]
    }

    /// Puts an item behind all others, once: another process is sending its file, and will probably have ended by then.
    ///
    /// - Returns: false for an item that was put back before.
    func postpone(_ index: Int) -> Bool {
        state.withLock { state in
            guard state.everPostponed.insert(index).inserted else { return false }
            state.postponed.append(index)
            return true
        }
    }

    /// How the same file, sent to the same event, has ended before; nil when it was not sent.
    func outcome(for index: Int) -> UploadResult? {
        guard let key = key(index) else { return nil }
        return state.withLock { $0.outcomes[key] }
    }

    /// Keeps an end for the items of the same file.
    func note(_ result: UploadResult, of index: Int) {
        guard result.state != .cancelled, let key = key(index) else { return }
        state.withLock { state in
            if state.outcomes[key] == nil {
                state.outcomes[key] = result
            }
        }
    }

    private func key(_ index: Int) -> Outcome? {
        guard let file = files[index], case .ready(let upload) = items[index] else { return nil }
        return Outcome(file: file, upload.details)
    }
}

extension UploadBatch.Item {
    /// Length in bytes.
    fileprivate var sizeBytes: Int64 {
        switch self {
        case .ready(let upload): upload.sizeBytes
        case .refused(let result): result.sizeBytes
        }
    }
}
