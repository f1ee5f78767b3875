internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import Synchronization

/// Gives photos their names, in the order of the index, so that a run that is repeated gives the same.
///
/// A name is free when nothing has it, in any case: no file of the directory, no copy that the library knows, no photo of
/// this run. It is taken in the library before the first byte is asked for, and stays taken when the download fails.
actor DownloadPlanner {
    private typealias Keys = Set<Int>

    /// Directories that were read last. Photos come in the order of their upload, mostly month after month.
    private static let remembered = 16

    private let account: SyncAccount
    private let root: [UInt8]
    /// nil for a dry run into a directory that is not there yet.
    private let target: TargetDirectory?
    private let isDryRun: Bool

    /// What stands in a directory, as hashes of `SafeFileName.key`: a million names must not take a million strings. That
    /// two hashes are equal is as good as impossible, and would cost a name its number only.
    private var listings: [String: Keys] = [:]
    private var listed: [String] = []
    /// The number that a name got last, so that a thousand photos of one name do not ask for each other's numbers.
    private var lastNumbers: [Int: Int] = [:]
    /// Names taken by photos that have not come yet.
    private var reserved: [String: Keys]?

    init(account: SyncAccount, target: TargetDirectory?, root: [UInt8], isDryRun: Bool) {
        self.account = account
        self.target = target
        self.root = target?.path ?? root
        self.isDryRun = isDryRun
    }

    /// Plans photos and keeps the plan.
    ///
    /// - Parameter wanted: With the names that they may have in the library already.
    /// - Returns: All of them, in their order.
    /// - Throws: `StoreError`.
    func plan(_ wanted: [(photo: PhotoRecord, names: [PhotoCopy])]) async throws(StoreError) -> [PlannedDownload] {
        try loadReserved()
        var plans = wanted.map { planAgain($0.photo, names: $0.names) }
        var open = plans.indices.filter { plans[$0].copy.path.isEmpty }
        while !open.isEmpty {
            for index in open { giveName(to: &plans[index]) }
            let taken = try takenByOthers(open.map { plans[$0] })
            open.removeAll { !taken.contains(plans[$0].copy.path) }
        }
        if !isDryRun {
            for plan in plans where plan.abandoned != nil {
                try account.library.remove(staleNames(of: plan, in: wanted))
            }
            try await account.library.keep(plans.map(\.copy))
        }
        return plans
    }

    /// Another name, since somebody has taken the one that was planned. The temporary file keeps its name.
    func rename(_ plan: PlannedDownload) async throws(StoreError) -> PlannedDownload {
        var renamed = plan
        listings[plan.place.directory]?.insert(Self.hash(plan.place.name))
        repeat {
            giveName(to: &renamed)
        } while try takenByOthers([renamed]).contains(renamed.copy.path)
        renamed.copy.temporaryName = plan.copy.temporaryName
        try await account.library.keep([renamed.copy])
        try account.library.remove([plan.copy])
        return renamed
    }

    /// The file is there: its name is now taken by itself.
    func landed(_ plan: PlannedDownload) {
        let hash = Self.hash(plan.place.name)
        reserved?[plan.place.directory]?.remove(hash)
        listings[plan.place.directory]?.insert(hash)
    }

    // MARK: Names

    /// The name that the photo was given before, if it can still have it; otherwise a plan without path.
    private func planAgain(_ photo: PhotoRecord, names: [PhotoCopy]) -> PlannedDownload {
        var plan = PlannedDownload(
            photo: photo,
            place: DownloadPlace(takenAt: photo.takenAt, name: ""),
            copy: PhotoCopy(
                server: account.server,
                photoID: photo.id,
                path: [],
                state: .planned,
                source: .downloaded,
                serverSHA256: photo.sha256
            )
        )
        for known in names.sorted(by: { $0.path.lexicographicallyPrecedes($1.path) }) {
            guard let name = nameInPlace(known.path, plan.place) else { continue }
            guard isFree(known) else {
                plan.abandoned = known.temporaryName
                continue
            }
            plan.place.name = name
            reserve(plan.place)
            if known.state == .present {
                plan.copy.path = known.path
                plan.copy.temporaryName = SafeFileName.temporary(for: name)
            } else {
                plan.copy = known
                // The listing may say something else by now.
                plan.copy.serverSHA256 = photo.sha256
            }
            break
        }
        return plan
    }

    /// The last part of a path when the rest is the directory of a place.
    private func nameInPlace(_ path: [UInt8], _ place: DownloadPlace) -> String? {
        var directory = place
        directory.name = ""
        let prefix = directory.path(below: root)
        guard path.starts(with: prefix), path.count > prefix.count else { return nil }
        return String(validating: path[prefix.count...], as: UTF8.self)
    }

    /// Whether nothing stands under a name, or what stands there is the photo itself, which had just got it when the run
    /// died.
    private func isFree(_ copy: PhotoCopy) -> Bool {
        guard let found = FileIdentity(ofRegularFile: copy.path) else { return true }
        return copy.state == .written && copy.identity.map { found.isSameContent(as: $0) } == true
    }

    /// The first name that neither the directory nor this run has.
    private func giveName(to plan: inout PlannedDownload) {
        let directory = plan.place.directory
        let standing = listing(of: directory)
        let first = SafeFileName(plan.photo.originalFilename, id: plan.photo.id)
        let series = "\(directory)/\(first.key)".hashValue
        var number = lastNumbers[series] ?? 1
        var name = number == 1 ? first : first.numbered(number)
        while standing.contains(Self.hash(name.text)) || isReserved(name, in: directory) {
            number += 1
            name = first.numbered(number)
        }
        if number > 1 { lastNumbers[series] = number }
        plan.place.name = name.text
        plan.copy.path = plan.place.path(below: root)
        plan.copy.temporaryName = name.temporary
        reserve(plan.place)
    }

    private func takenByOthers(_ plans: [PlannedDownload]) throws(StoreError) -> Set<[UInt8]> {
        let owners = Dictionary(plans.map { ($0.copy.path, $0.photo.id) }, uniquingKeysWith: { first, _ in first })
        let known = try account.library.copies(at: Array(owners.keys), server: account.server)
        return Set(known.filter { owners[$0.path] != $0.photoID }.map(\.path))
    }

    private func staleNames(
        of plan: PlannedDownload,
        in wanted: [(photo: PhotoRecord, names: [PhotoCopy])]
    ) -> [PhotoCopy] {
        let names = wanted.first { $0.photo.id == plan.photo.id }?.names ?? []
        return names.filter { $0.path != plan.copy.path && nameInPlace($0.path, plan.place) != nil }
    }

    // MARK: What is taken

    private static func hash(_ name: String) -> Int { SafeFileName.key(of: name).hashValue }

    private func isReserved(_ name: SafeFileName, in directory: String) -> Bool {
        reserved?[directory]?.contains(name.key.hashValue) ?? false
    }

    private func reserve(_ place: DownloadPlace) {
        reserved?[place.directory, default: []].insert(Self.hash(place.name))
    }

    /// Names that earlier runs took for photos that have not come.
    private func loadReserved() throws(StoreError) {
        guard reserved == nil else { return }
        var found: [String: Keys] = [:]
        let prefix = root + Array("/".utf8)
        do {
            try account.library.forEachBlockOfCopies(of: account.server) { copies in
                for copy in copies where copy.state != .present && copy.path.starts(with: prefix) {
                    guard let path = String(validating: copy.path[prefix.count...], as: UTF8.self),
                        let slash = path.lastIndex(of: "/")
                    else { continue }
                    let name = String(path[path.index(after: slash)...])
                    found[String(path[..<slash]), default: []].insert(Self.hash(name))
                }
            }
        } catch {
            throw error as? StoreError ?? StoreError(.other, path: account.server, detail: "\(error)")
        }
        reserved = found
    }

    /// A directory that is missing, or no directory, has no names; what is wrong with it shows when it is written to.
    private func listing(of directory: String) -> Keys {
        if let known = listings[directory] { return known }
        var keys = Keys()
        let parts = directory.split(separator: "/").map(String.init)
        if let year = try? target?.subdirectory(parts[0], creating: false),
            let month = try? year.subdirectory(parts[1], creating: false)
        {
            try? month.forEachName { keys.insert(Self.hash(String(decoding: $0, as: UTF8.self))) }
        }
        if listed.count == Self.remembered { listings[listed.removeFirst()] = nil }
        listed.append(directory)
        listings[directory] = keys
        return keys
    }
}

extension FileIdentity {
    /// Whether both are one file with one content; its change time tells of names and rights too, and does not count.
    func isSameContent(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode && size == other.size
            && modificationNanoseconds == other.modificationNanoseconds
    }
}

/// What a selection comes to, read from the index a block at a time.
struct DownloadCandidates: Sendable {
    /// One photo of the selection.
    enum Candidate: Sendable {
        /// To be fetched; with the names that it may have already.
        case wanted(PhotoRecord, names: [PhotoCopy])
        /// Here, in a file that may have been changed since.
        case present(PhotoRecord, PhotoCopy, isChanged: Bool)
        /// Not in the index.
        case unknown(id: String)
    }

    private static let blockSize = 500

    let account: SyncAccount
    let selection: Download.Selection

    /// Calls `body` with up to 500 candidates at a time. Blocks.
    ///
    /// - Throws: `StoreError`, and what `body` throws.
    func forEachBlock(_ body: ([Candidate]) throws -> Void) throws {
        switch selection {
        case .missing: try missing(PhotoFilter(), body)
        case .since(let time): try missing(PhotoFilter(uploadedSince: time), body)
        case .ids(let ids): try named(ids, body)
        }
    }

    /// How many photos are to be fetched, and their bytes. Blocks.
    func total() throws -> (photos: Int64, bytes: Int64) {
        var total: (photos: Int64, bytes: Int64) = (0, 0)
        try forEachBlock { block in
            for case .wanted(let photo, _) in block {
                total.photos += 1
                total.bytes &+= photo.fileSize
            }
        }
        return total
    }

    private var copies: LocalCopies { LocalCopies(library: account.library, server: account.server) }

    private func missing(_ filter: PhotoFilter, _ body: ([Candidate]) throws -> Void) throws {
        try account.index.forEachBlock(of: account.server, where: filter) { photos in
            let holdings = try copies.holdings(of: photos)
            let block = photos.compactMap { photo -> Candidate? in
                let holding = holdings[photo.id] ?? LocalCopies.Holding()
                if holding.unchanged != nil { return nil }
                // Changing a photo is the user's right; fetching it again each night would be a nuisance.
                if let changed = holding.changed { return .present(photo, changed, isChanged: true) }
                return .wanted(photo, names: holding.names)
            }
            if !block.isEmpty { try body(block) }
        }
    }

    private func named(_ ids: [String], _ body: ([Candidate]) throws -> Void) throws {
        var seen: Set<String> = []
        let ids = ids.filter { seen.insert($0).inserted }
        for start in stride(from: 0, to: ids.count, by: Self.blockSize) {
            let part = Array(ids[start..<min(ids.count, start + Self.blockSize)])
            let photos = try account.index.photos(part, of: account.server)
            let holdings = try copies.holdings(of: photos)
            let byID = Dictionary(photos.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            try body(
                part.map { id in
                    guard let photo = byID[id] else { return .unknown(id: id) }
                    let holding = holdings[id] ?? LocalCopies.Holding()
                    if let copy = holding.unchanged { return .present(photo, copy, isChanged: false) }
                    return .wanted(photo, names: holding.names)
                }
            )
        }
    }
}

/// Blocks of candidates, read on a thread of its own and only as fast as they are taken, so that memory stays flat.
final class CandidateFeed: Sendable {
    typealias Block = [DownloadCandidates.Candidate]

    private struct Stopped: Error {}

    private let blocks: AsyncThrowingStream<Block, any Error>
    private let demand = DispatchSemaphore(value: 0)
    private let isStopped = Atomic(false)

    /// Begins to read when the first block is asked for.
    init(_ candidates: DownloadCandidates) {
        let (blocks, door) = AsyncThrowingStream<Block, any Error>.makeStream()
        self.blocks = blocks
        Task {
            await BlockingWork.run { [self] in
                do {
                    try waitForDemand()
                    try candidates.forEachBlock { block in
                        door.yield(block)
                        try waitForDemand()
                    }
                    door.finish()
                } catch {
                    door.finish(throwing: error)
                }
            }
        }
    }

    /// The next block; nil after the last. One caller at a time.
    func next() async throws(PhotoSyncError) -> Block? {
        demand.signal()
        var blocks = blocks.makeAsyncIterator()
        do { return try await blocks.next() } catch { throw .ofStore(error) }
    }

    /// Ends the thread. Nothing is asked for after that.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        demand.signal()
    }

    private func waitForDemand() throws {
        demand.wait()
        if isStopped.load(ordering: .relaxed) { throw Stopped() }
    }
}

/// Where a photo goes: `YYYY/MM/NAME` below the target directory.
struct DownloadPlace: Sendable, Hashable {
    /// Four digits.
    let year: String
    /// Two digits.
    let month: String
    /// Its name there.
    var name: String

    /// The month in UTC, as the server files it (contract 3.6).
    init(takenAt time: PhotoTime, name: String) {
        let taken = CivilTime(secondsSince1970: time.microseconds.flooredDivision(by: 1_000_000).quotient)
        year = max(0, taken.year).padded(4)
        month = taken.month.padded(2)
        self.name = name
    }

    /// The month's directory below the root, `YYYY/MM`.
    var directory: String { "\(year)/\(month)" }

    /// The whole path, as bytes.
    func path(below root: [UInt8]) -> [UInt8] {
        (root == Array("/".utf8) ? [] : root) + Array("/\(directory)/\(name)".utf8)
    }
}

/// What this machine has of some photos, by the library and by the files themselves.
struct LocalCopies {
    /// What became of the file of a copy.
    enum Condition {
        /// It is there as it was.
        case unchanged
        /// It is there, and somebody has changed it.
        case changed
        /// It is gone.
        case vanished
    }

    /// What there is of one photo.
    struct Holding {
        /// A file with its bytes.
        var unchanged: PhotoCopy?
        /// A file that had its bytes.
        var changed: PhotoCopy?
        /// Downloads that have not ended, and copies that are gone: names that the photo may have again.
        var names: [PhotoCopy] = []
    }

    let library: LibraryStore
    let server: String

    /// What there is of each photo, by its id.
    func holdings(of photos: [PhotoRecord]) throws(StoreError) -> [String: Holding] {
        var holdings: [String: Holding] = [:]
        for copy in try library.copies(ofPhotos: photos.map(\.id), server: server) {
            add(copy, to: &holdings[copy.photoID, default: Holding()])
        }
        // The same bytes, pushed or fetched as another photo.
        let lacking = photos.filter { holdings[$0.id]?.unchanged == nil }
        guard !lacking.isEmpty else { return holdings }
        let ids = Dictionary(lacking.map { ($0.sha256, $0.id) }, uniquingKeysWith: { first, _ in first })
        for copy in try library.copies(withDigests: Array(ids.keys), server: server) where copy.state == .present {
            guard let digest = copy.sha256, let id = ids[digest], copy.photoID != id else { continue }
            if Self.condition(of: copy) == .unchanged { holdings[id, default: Holding()].unchanged = copy }
        }
        return holdings
    }

    private func add(_ copy: PhotoCopy, to holding: inout Holding) {
        guard copy.state == .present else {
            holding.names.append(copy)
            return
        }
        switch Self.condition(of: copy) {
        case .unchanged: holding.unchanged = copy
        case .changed: holding.changed = copy
        case .vanished: holding.names.append(copy)
        }
    }

    /// Length and time of change tell. A file that was moved to another disk and back, or got other rights, is the same.
    static func condition(of copy: PhotoCopy) -> Condition {
        guard let found = FileIdentity(ofRegularFile: copy.path) else { return .vanished }
        guard let known = copy.identity else { return .unchanged }
        let isSame =
            found.size == known.size && found.modificationNanoseconds == known.modificationNanoseconds
        return isSame ? .unchanged : .changed
    }
}
