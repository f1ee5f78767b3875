/// Finds what a mistyped name was meant to be.
enum Spelling {
    /// The known name with the fewest edits, if those are at most a third of its letters; else the only one that begins
    /// so. `-` counts as `_`, and capitals as small letters.
    static func nearest(to name: String, among known: [String]) -> String? {
        let wanted = letters(of: name)
        let ranked = known.map { (name: $0, edits: distance(wanted, letters(of: $0))) }
        if let best = ranked.min(by: { $0.edits < $1.edits }), best.edits * 3 <= max(best.name.count, 3) {
            return best.name
        }
        let longer = known.filter { letters(of: $0).starts(with: wanted) }
        return wanted.count > 2 && longer.count == 1 ? longer[0] : nil
    }

    /// The hint for a mistyped name; nil when it resembles nothing.
    static func hint(for name: String, among known: [String]) -> String? { hint(nearest(to: name, among: known)) }

    /// The hint that leads to a name.
    static func hint(_ nearest: String?) -> String? { nearest.map { "did you mean: \($0)" } }

    private static func letters(of name: String) -> [Character] {
        Array(name.lowercased().replacing("-", with: "_"))
    }

    /// The edits between two words: letters added, left out, replaced, or swapped with their neighbour (Damerau).
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var rows = [Array(0...right.count)]
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            for (j, b) in right.enumerated() {
                var best = min(rows[i][j] + (a == b ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a == right[j - 1], b == left[i - 1] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
