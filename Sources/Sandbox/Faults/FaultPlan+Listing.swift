/// Pages of PhotoSync's listing that a careful client must notice (photosync contract 5 and trap 1).
extension FaultPlan {
    private var listTroubles: [Fault.ListTrouble] {
        faults.compactMap { if case .list(let trouble) = $0.effect { trouble } else { nil } }
    }

    /// The cursor that is looked up in place of the one in the request.
    func cursor(_ cursor: String?) -> String? {
        listTroubles.reduce(cursor) { cursor, trouble in
            switch trouble {
            case .endless: nil
            case .expiredCursor: cursor.map { _ in "expired" }
            default: cursor
            }
        }
    }

    /// The page as the client gets it.
    func changed(_ listing: PhotoListing, askedAfter cursor: String?) -> PhotoListing {
        listTroubles.reduce(into: listing) { listing, trouble in
            switch trouble {
            case .repeatedCursor:
                guard let cursor else { return }
                listing.cursor = cursor
                listing.hasMore = true
            case .endless:
                listing.cursor = PhotoCatalog.newID()
                listing.hasMore = true
            case .emptyPage:
                listing.photos = []
                listing.cursor = PhotoCatalog.newID()
                listing.hasMore = true
            case .expiredCursor: break
            case .lostPhoto: listing.photos = Array(listing.photos.dropFirst())
            case .total(let total): listing.totalCount = total
            case .hostileNames:
                for index in listing.photos.indices {
                    let name = Self.hostileNames[index % Self.hostileNames.count]
                    listing.photos[index]["originalFilename"] = .string(name)
                }
            }
        }
    }

    private static let hostileNames = [
        "../../etc/passwd", "/etc/passwd", "..\\..\\windows.jpg", "..", ".", "", ".gif", "CON.jpg", "a/b.jpg",
        "red\u{1b}[31m.jpg", "line\nbreak.jpg", "null\u{0}.jpg", "right\u{202e}gpj.exe", "-rf.jpg", " .jpg ", "A.jpg",
        "a.jpg", "caf\u{e9}.jpg", "cafe\u{301}.jpg", String(repeating: "\u{e9}", count: 300) + ".jpg",
    ]
}
