internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// Adds originals to an album: lists the folder once at the beginning and writes the manifest once at the end, for any
/// number of originals.
struct AlbumAddition {
    private(set) var album: AlbumFolder
    private let targets: LinkTarget
    private let addedAt: String
    /// The index of each original's entry in the manifest.
    private var places: [[UInt8]: Int] = [:]
    /// Links in mediactl's format that are not in the manifest: leftovers from a crashed process.
    private var strays: [[UInt8]: [UInt8]] = [:]
    private var hasChanged = false
    /// The first sequence number that was free at the beginning, and the numbers assigned to strays since then.
    private let firstSequence: Int64
    private var sequences: Set<Int64> = []

    init(to album: AlbumFolder, at now: Date) throws(FileWriteError) {
        self.album = album
        targets = album.targets
        firstSequence = album.manifest.nextSequence
        addedAt = RFC3339.text(seconds: Int64(now.timeIntervalSince1970.rounded(.down)))
        var known: Set<[UInt8]> = []
        for (place, element) in album.manifest.elements.enumerated() {
            guard case .entry(let entry) = element else { continue }
            known.insert(entry.link)
            if let source = targets.source(of: entry.target) { places[source] = place }
        }
        let names: [[UInt8]]
        do throws(FileWriteError) {
            names = try album.directory.names()
        } catch {
            // Adding does not require read permission: without it, strays are unknown, and a taken name is detected on
            // creation.
            guard error.kind == .denied else { throw error }
            names = []
        }
        for name in names {
            guard let sequence = AlbumName.sequence(of: name), !known.contains(name) else { continue }
            // A number already in use is never reused.
            self.album.manifest.nextSequence = max(self.album.manifest.nextSequence, sequence + 1)
            guard let source = try album.directory.target(ofLink: name).flatMap(targets.source) else { continue }
            if AlbumName.link(sequence, source: source) == name { strays[source] = name }
        }
    }

    /// Adds links to originals, in order: links first, then the manifest. Originals are not accessed (rule R14).
    ///
    /// - Returns: One result for each; `.notNow` from the first file system failure onward, if earlier originals
    ///   succeeded.
    /// - Throws: `.quota`, `.unauthorized`, `.unreachable`, `.cancelled`; links created before the error are kept, and
    ///   the next attempt finds them.
    mutating func add(_ assets: [AlbumAsset], _ steps: WorkSteps) throws(AlbumError) -> [AddResult] {
        var results: [AddResult] = []
        for asset in assets {
            do throws(AlbumError) {
                try steps.next()
                results.append(try add(asset))
            } catch {
                guard hasChanged, error.kind != .cancelled else {
                    try? keep()
                    throw error
                }
                results += repeatElement(.notNow(error), count: assets.count - results.count)
                break
            }
        }
        TapeFailpoint.linksMade.reach()
        try steps.next()
        try AlbumError.accessing(keep())
        TapeFailpoint.manifestRewritten.reach()
        return results
    }

    private func keep() throws(FileWriteError) {
        if hasChanged { try album.writeManifest() }
    }

    // MARK: One original

    private mutating func add(_ asset: AlbumAsset) throws(AlbumError) -> AddResult {
        guard asset.id.first == UInt8(ascii: "/"), !asset.id.contains(0) else { return .notFound }
        do throws(FileWriteError) {
            if let place = places[asset.id], case .entry(let entry) = album.manifest.elements[place] {
                return try restore(entry, at: place, for: asset)
            }
            if let name = strays[asset.id], let target = try album.directory.target(ofLink: name) {
                append(asset, sequence: sequence(ofStray: name), link: name, target: target)
                return .alreadyInAlbum
            }
            try link(asset)
            return .added
        } catch {
            if case .io(ENAMETOOLONG) = error.kind { return .rejected(error.detail) }
            throw AlbumError(error)
        }
    }

    /// Ensures that the link of an entry exists: the user may have removed it, or replaced it with a different file,
    /// which is kept.
    private mutating func restore(
        _ entry: AlbumManifest.Entry,
        at place: Int,
        for asset: AlbumAsset
    ) throws(FileWriteError) -> AddResult {
        if let target = try album.directory.target(ofLink: entry.link), targets.source(of: target) == asset.id {
            return .alreadyInAlbum
        }
        do throws(FileWriteError) {
            try album.directory.makeLink(entry.link, to: targets.target(of: asset.id))
        } catch {
            guard error.kind == .exists else { throw error }
            album.manifest.elements.remove(at: place)
            places = places.compactMapValues { $0 == place ? nil : $0 > place ? $0 - 1 : $0 }
            try link(asset)
        }
        return .added
    }

    private mutating func link(_ asset: AlbumAsset) throws(FileWriteError) {
        let target = targets.target(of: asset.id)
        while true {
            let sequence = album.manifest.nextSequence
            let name = AlbumName.link(sequence, source: asset.id)
            album.manifest.nextSequence = sequence + 1
            do throws(FileWriteError) {
                try album.directory.makeLink(name, to: target)
            } catch {
                guard error.kind == .exists else { throw error }
                continue
            }
            TapeFailpoint.linkMade.reach()
            append(asset, sequence: sequence, link: name, target: target)
            return
        }
    }

    /// Uses the number in a stray's name as its sequence, unless an earlier entry may already have that sequence, since
    /// the number in a name is a position.
    private mutating func sequence(ofStray name: [UInt8]) -> Int64 {
        if let number = AlbumName.sequence(of: name), number >= firstSequence, sequences.insert(number).inserted {
            return number
        }
        let sequence = album.manifest.nextSequence
        album.manifest.nextSequence = sequence + 1
        return sequence
    }

    private mutating func append(_ asset: AlbumAsset, sequence: Int64, link: [UInt8], target: [UInt8]) {
        places[asset.id] = album.manifest.elements.count
        album.manifest.elements.append(
            .entry(
                AlbumManifest.Entry(
                    sequence: sequence,
                    link: link,
                    target: target,
                    kind: asset.kind.rawValue,
                    addedAt: addedAt
                )
            )
        )
        hasChanged = true
    }
}
