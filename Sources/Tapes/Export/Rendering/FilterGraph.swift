/// A filter graph of ffmpeg as a value. Numbers and words of ours only: nothing in it needs to be escaped, and no name of a
/// file or title gets here.
struct FilterGraph: Equatable {
    /// One filter.
    struct Filter: Equatable {
        var name: String
        /// `key=value`.
        var options: [String]

        init(_ name: String, _ options: String...) {
            self.name = name
            self.options = options
        }

        var text: String { options.isEmpty ? name : "\(name)=\(options.joined(separator: ":"))" }
    }

    /// Filters in a row, from labels to labels.
    struct Chain: Equatable {
        var inputs: [String]
        var filters: [Filter]
        var output: String

        var text: String {
            inputs.map { "[\($0)]" }.joined() + filters.map(\.text).joined(separator: ",") + "[\(output)]"
        }
    }

    var chains: [Chain]

    /// As `-filter_complex` takes it.
    var text: String { chains.map(\.text).joined(separator: ";") }
}
