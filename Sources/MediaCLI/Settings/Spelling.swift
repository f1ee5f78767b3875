/// Finds what a mistyped name was meant to be.
enum Spelling {
    /// The known name with the fewest edits, if those are at most a third of its letters; `-` counts as `_`.
    static func nearest(to name: String, among known: [String]) -> String? {
        let wanted = Array(name.lowercased().replacing("-", with: "_"))
        let ranked = known.map { (name: $0, edits: distance(wanted, Array($0))) }
        guard let best = ranked.min(by: { $0.edits < $1.edits }), best.edits * 3 <= max(best.name.count, 3) else {
            return nil
        }
        return best.name
    }

    /// Levenshtein's distance.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var row = Array(0...right.count)
        for (i, a) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, b) in right.enumerated() {
                let substituted = diagonal + (a == b ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
