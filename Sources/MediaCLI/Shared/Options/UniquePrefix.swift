internal import MediaCore

extension Sequence {
    /// The element with this ID, or the only element with this ID prefix; nil if there is no match. The case of
    /// `prefix` is ignored; `id` returns the ID of an element in lowercase. `kind` is the noun for the elements, in the
    /// singular.
    ///
    /// - Throws: `UserFacingError` (usage) with the candidates if there are several.
    func named(_ prefix: String, _ kind: String, _ id: (Element) -> String) throws(UserFacingError) -> Element? {
        let prefix = prefix.lowercased()
        guard !prefix.isEmpty else { return nil }
        var found: [Element] = []
        for element in self where id(element).hasPrefix(prefix) {
            guard id(element) != prefix else { return element }
            found.append(element)
        }
        guard found.count > 1 else { return found.first }
        let shown = found.prefix(5).map { TerminalText.escaped(id($0)) }
        throw .usage(
            "\(ErrorCatalog.quoted(prefix)) matches \(Formats.count(found.count, kind)): "
                + shown.joined(separator: ", ") + (found.count > shown.count ? ", ..." : ""),
            hint: "specify more of the ID"
        )
    }
}
