internal import HashCapture
internal import MediaCore

/// The candidate places near a border, between which only the user can choose.
struct PlaceChoice {
    /// Empty except in a dry run: otherwise, locations are not printed (hash-only contract, trap 25).
    private let candidates: [PlaceCandidate]

    init(_ candidates: [PlaceCandidate]) { self.candidates = candidates }

    /// nil if the preview has no place near a border.
    init?(_ preview: CapturePreview?) {
        for case .nearBorder(let candidates) in preview?.notices ?? [] {
            self.init(candidates)
            return
        }
        return nil
    }

    var words: String {
        guard candidates.count > 1 else {
            return "location omitted: the country is uncertain near a border; to submit it, specify --place CITY,CC "
                + "(--dry-run lists the candidates)"
        }
        let countries = candidates.map { TerminalText.escaped($0.country) }.joined(separator: " and ")
        let distances = candidates.map { Formats.kilometers($0.kilometers) }.joined(separator: " and ")
        let options = candidates.map { "--place \(option(for: $0))" }.joined(separator: " or ")
        return "location omitted: the country is uncertain near the border of \(countries) (nearest places: "
            + "\(distances) away); to submit it, specify \(options)"
    }

    private func option(for candidate: PlaceCandidate) -> String {
        let place = [candidate.city, candidate.country].compactMap { $0 }.joined(separator: ",")
        return ShellWord.quoted(place)
    }

    var json: JSONValue {
        .array(
            candidates.map {
                .object([
                    "city": JSONValue($0.city), "country": .string($0.country),
                    "kilometers": .double(($0.kilometers * 10).rounded() / 10),
                ])
            }
        )
    }
}

extension CaptureNotice {
    /// This notice without locations, for all runs except a dry run.
    var withoutLocation: CaptureNotice {
        if case .nearBorder = self { return .nearBorder([]) }
        return self
    }
}
