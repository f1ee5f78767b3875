internal import MediaStore

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
