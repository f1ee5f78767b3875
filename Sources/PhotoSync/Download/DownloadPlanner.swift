internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Assigns file names to photos in the order of the index, so repeated runs assign the same names.
///
/// A name is free if no file in the directory, no copy in the library and no photo in this run has it, ignoring case.
/// It is reserved in the library before the first request, and stays reserved if the download fails.
actor DownloadPlanner {
    private typealias Keys = Set<Int>

    /// Number of directory listings kept. Photos are in upload order, so most are grouped by month.
    private static let remembered = 16

    private let account: SyncAccount
    private let root: [UInt8]
    /// nil for a dry run into a directory that does not exist.
    private let target: TargetDirectory?
    private let isDryRun: Bool

    /// Names in a directory, as hashes of `SafeFileName.key`, to save memory with a million names. A collision is very
    /// unlikely, and only adds a number to a name unnecessarily.
    private var listings: [String: Keys] = [:]
    private var listed: [String] = []
    /// The last number assigned to each name, so 1,000 photos with one name do not test every number.
    private var lastNumbers: [Int: Int] = [:]
    /// Names reserved for photos that are not downloaded yet.
    private var reserved: [String: Keys]?

    init(account: SyncAccount, target: TargetDirectory?, root: [UInt8], isDryRun: Bool) {
        self.account = account
        self.target = target
        self.root = target?.path ?? root
        self.isDryRun = isDryRun
    }

    /// Plans photos, given with their names in the library, in their order, and stores the plan.
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
            for plan in plans where plan.abandoned != nil || plan.unverified != nil {
                try account.library.remove(staleNames(of: plan, in: wanted))
            }
            try await account.library.keep(plans.map(\.copy))
        }
        return plans
    }

    /// Assigns a different name after a file was created under the planned one. The temporary file keeps its name.
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

    /// Marks the name as used by the downloaded file.
    func landed(_ plan: PlannedDownload) {
        let hash = Self.hash(plan.place.name)
        reserved?[plan.place.directory]?.remove(hash)
        listings[plan.place.directory]?.insert(hash)
    }

    // MARK: Names

    /// Plans the photo with its earlier name if that is still free, otherwise without a path.
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
            if known.state == .unverified { plan.unverified = UnverifiedFile(known) }
            guard isFree(known) else {
                if known.state != .unverified { plan.abandoned = known.temporaryName }
                continue
            }
            plan.place.name = name
            reserve(plan.place)
            if known.state == .present || known.state == .unverified {
                plan.copy.path = known.path
                plan.copy.temporaryName = SafeFileName.temporary(for: name)
                // If this download fails as well, the earlier file is still reported as missing.
                plan.copy.sha256 = known.sha256
            } else {
                plan.copy = known
                // The listing may have changed since then.
                plan.copy.serverSHA256 = photo.sha256
            }
            break
        }
        return plan
    }

    /// The last component of a path in the directory of `place`; nil for any other path.
    private func nameInPlace(_ path: [UInt8], _ place: DownloadPlace) -> String? {
        var directory = place
        directory.name = ""
        let prefix = directory.path(below: root)
        guard path.starts(with: prefix), path.count > prefix.count else { return nil }
        return String(validating: path[prefix.count...], as: UTF8.self)
    }

    /// Whether no file has this name, or the only file with this name is the photo itself, renamed just before its run
    /// was interrupted.
    private func isFree(_ copy: PhotoCopy) -> Bool {
        guard let found = FileIdentity(ofRegularFile: copy.path) else { return true }
        return copy.state == .written && copy.identity.map { found.isProbablyUnchanged(since: $0) } == true
    }

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

    // MARK: Names in use

    private static func hash(_ name: String) -> Int { SafeFileName.key(of: name).hashValue }

    private func isReserved(_ name: SafeFileName, in directory: String) -> Bool {
        reserved?[directory]?.contains(name.key.hashValue) ?? false
    }

    private func reserve(_ place: DownloadPlace) {
        reserved?[place.directory, default: []].insert(Self.hash(place.name))
    }

    private func loadReserved() throws(StoreError) {
        guard reserved == nil else { return }
        var found: [String: Keys] = [:]
        let prefix = root + Array("/".utf8)
        do {
            try account.library.forEachBlockOfCopies(of: account.server) { copies in
                for copy in copies
                where ![.present, .replaced].contains(copy.state) && copy.path.starts(with: prefix) {
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

    /// Empty for a directory that does not exist or cannot be read; writing to it then throws the error.
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

struct DownloadCandidates: Sendable {
    enum Candidate: Sendable {
        /// To be downloaded, with its names in the library.
        case wanted(PhotoRecord, names: [PhotoCopy])
        /// Has a local copy, with the reason why it is not known to be intact.
        case present(PhotoRecord, PhotoCopy, Doubt?)
        /// Not in the index.
        case unknown(id: String)
    }

    enum Doubt {
        case changed
        case inaccessible(reason: String)
    }

    private static let blockSize = 500

    let account: SyncAccount
    let hashes: HashCache
    let selection: Download.Selection
    let control: TransferControl
    /// Whether to include photos that already have a copy, as for thumbnails.
    var includesPresent = false

    /// The last photo of the previous block.
    var last: PhotoRecord?
    /// Number of IDs in the previous blocks.
    var idCount = 0

    /// The next candidates, at most 500; nil after the last ones.
    mutating func next() async throws(PhotoSyncError) -> [Candidate]? {
        let before = self
        let (block, rest) = try await StoreWork.run {
            var rest = before
            let block = try rest.readNext()
            return (block, rest)
        }
        self = rest
        return block
    }

    /// Number of photos to download, and their total bytes. Blocks.
    func total() throws(StoreError) -> (photos: Int64, bytes: Int64) {
        var total: (photos: Int64, bytes: Int64) = (0, 0)
        var rest = self
        while let block = try rest.readNext() {
            for case .wanted(let photo, _) in block {
                total.photos += 1
                total.bytes &+= photo.fileSize
            }
        }
        return total
    }

    private mutating func readNext() throws(StoreError) -> [Candidate]? {
        switch selection {
        case .missing: return try missing(PhotoFilter())
        case .since(let time): return try missing(PhotoFilter(uploadedSince: time))
        case .ids(let ids):
            let block = ids.uniqued { $0 }.dropFirst(idCount).prefix(Self.blockSize)
            guard !block.isEmpty else { return nil }
            idCount += block.count
            return try named(Array(block))
        }
    }

    var copies: LocalCopies { copies(readsContent: false) }

    private func copies(readsContent: Bool) -> LocalCopies {
        LocalCopies(
            library: account.library,
            server: account.server,
            hashing: TreeHashing(hashes: readsContent ? nil : hashes, now: account.now),
            readsContent: readsContent,
            control: control
        )
    }

    private mutating func missing(_ filter: PhotoFilter) throws(StoreError) -> [Candidate]? {
        while let photos = try account.index.block(of: account.server, where: filter, after: last) {
            last = photos.last
            if includesPresent { return photos.map { Candidate.wanted($0, names: []) } }
            let holdings = try copies.holdings(of: photos)
            let block = photos.compactMap { photo -> Candidate? in
                let holding = holdings[photo.id] ?? LocalCopies.Holding()
                if holding.unchanged != nil { return nil }
                // A photo must not be downloaded again every night because the user edited the copy.
                if let changed = holding.changed { return .present(photo, changed, .changed) }
                if let (copy, reason) = holding.inaccessible {
                    return .present(photo, copy, .inaccessible(reason: reason))
                }
                return .wanted(photo, names: holding.names)
            }
            if !block.isEmpty { return block }
        }
        return nil
    }

    private func named(_ ids: [String]) throws(StoreError) -> [Candidate] {
        let photos = try account.index.photos(ids, of: account.server)
        // The user may have specified a photo because its copy is damaged.
        let holdings = try includesPresent ? [:] : copies(readsContent: true).holdings(of: photos)
        let byID = Dictionary(photos.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        return ids.map { id -> Candidate in
            guard let photo = byID[id] else { return .unknown(id: id) }
            if includesPresent { return .wanted(photo, names: []) }
            let holding = holdings[id] ?? LocalCopies.Holding()
            if let copy = holding.unchanged { return .present(photo, copy, nil) }
            return .wanted(photo, names: holding.names)
        }
    }
}

/// The path of a photo: `YYYY/MM/NAME` in the target directory.
struct DownloadPlace: Sendable, Hashable {
    /// Four digits.
    let year: String
    /// Two digits.
    let month: String
    var name: String

    /// Uses the month in UTC, like the server's directories (contract 3.6).
    init(takenAt time: PhotoTime, name: String) {
        let taken = CivilTime(secondsSince1970: time.microseconds.flooredDivision(by: 1_000_000).quotient)
        year = max(0, taken.year).padded(4)
        month = taken.month.padded(2)
        self.name = name
    }

    var directory: String { "\(year)/\(month)" }

    func path(below root: [UInt8]) -> [UInt8] {
        (root == Array("/".utf8) ? [] : root) + Array("/\(directory)/\(name)".utf8)
    }
}

/// The local copies of some photos, from the library and the files' metadata.
struct LocalCopies {
    enum Condition: Equatable {
        /// The size and modification time are unchanged.
        case unchanged
        /// Modified by the user.
        case changed
        /// Does not exist.
        case vanished
        /// Whether the file exists is unknown, for example because its directory cannot be read.
        case inaccessible(reason: String)
    }

    struct Holding {
        var unchanged: PhotoCopy?
        var changed: PhotoCopy?
        var inaccessible: (copy: PhotoCopy, reason: String)?
        /// Unfinished downloads and deleted copies, whose names the photo may use again.
        var names: [PhotoCopy] = []
    }

    let library: LibraryStore
    let server: String
    let hashing: TreeHashing
    /// Whether even a copy with the recorded size and modification time is read.
    let readsContent: Bool
    let control: TransferControl

    func holdings(of photos: [PhotoRecord]) throws(StoreError) -> [String: Holding] {
        var holdings: [String: Holding] = [:]
        for copy in try library.copies(ofPhotos: photos.map(\.id), server: server) {
            add(copy, to: &holdings[copy.photoID, default: Holding()])
        }
        // Copies of other photos with the same bytes.
        let lacking = photos.filter { holdings[$0.id]?.unchanged == nil }
        guard !lacking.isEmpty else { return holdings }
        let ids = Dictionary(lacking.map { ($0.sha256, $0.id) }, uniquingKeysWith: { first, _ in first })
        for copy in try library.copies(withDigests: Array(ids.keys), server: server) where copy.state == .present {
            guard let digest = copy.sha256, let id = ids[digest], copy.photoID != id else { continue }
            if isIntact(copy) { holdings[id, default: Holding()].unchanged = copy }
        }
        return holdings
    }

    /// Whether the file has the recorded bytes. Without `readsContent`, it is read only if its inode or any of its
    /// times changed since it was recorded: damage may change neither size nor modification time, and a damaged copy
    /// would be reported only for the other photo.
    private func isIntact(_ copy: PhotoCopy) -> Bool {
        if !readsContent, let known = copy.identity, known == FileIdentity(ofRegularFile: copy.path) { return true }
        guard case .success(let digest) = hashing.digest(of: copy.path, control: control) else { return false }
        return digest.sha256 == copy.sha256
    }

    private func add(_ copy: PhotoCopy, to holding: inout Holding) {
        // A different photo now has this name.
        guard copy.state != .replaced else { return }
        guard copy.state == .present else {
            holding.names.append(copy)
            return
        }
        switch Self.condition(of: copy) {
        case .unchanged where readsContent && copy.sha256 != nil && !isIntact(copy): holding.changed = copy
        case .unchanged: holding.unchanged = copy
        case .changed: holding.changed = copy
        case .vanished: holding.names.append(copy)
        case .inaccessible(let reason): holding.inaccessible = (copy, reason)
        }
    }

    /// Compares size and modification time. Moving a file to another disk or changing its permissions does not count as
    /// a modification.
    static func condition(of copy: PhotoCopy) -> Condition {
        guard let found = FileIdentity(ofRegularFile: copy.path) else {
            let error = FileIdentity.errorCode(of: copy.path)
            // Something other than a file may have replaced the copy.
            let isVanished = error == 0 || FileIdentity.isMissing(copy.path)
            return isVanished ? .vanished : .inaccessible(reason: SystemError.words(error))
        }
        guard let known = copy.identity else { return .unchanged }
        let isSame =
            found.size == known.size && found.modificationNanoseconds == known.modificationNanoseconds
        return isSame ? .unchanged : .changed
    }
}
