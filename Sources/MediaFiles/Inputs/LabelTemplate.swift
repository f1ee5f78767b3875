/// A label with places to fill in: `{stem}` (file name without extension), `{name}`, `{ext}`, `{parent}` (name of the
/// directory), `{date}` (event date), `{n}` (number of the file in the run, from 1; `{n:3}` with leading zeros), and `{{`, `}}` for
/// braces. Text without braces is itself.
public struct LabelTemplate: Sendable, Equatable {
    /// What a label is made of.
    public struct Values: Sendable {
        /// The file's path.
        public var path: [UInt8]
        /// `YYYY-MM-DD`.
        public var eventDate: String
        /// Number of the file in the run, from 1.
        public var number: Int

        /// Makes a set of values.
        public init(path: [UInt8], eventDate: String, number: Int) {
            self.path = path
            self.eventDate = eventDate
            self.number = number
        }
    }

    /// The template as given.
    public let text: String

    /// Reads a template.
    ///
    /// - Throws: `LabelTemplateError` for unknown places and unbalanced braces.
    public init(_ text: String) throws(LabelTemplateError) {
        self.text = text
    }

    /// The label of a file.
    public func label(_ values: Values) -> String { text }
}

/// A template that cannot be read.
public struct LabelTemplateError: Error, Sendable, Equatable {
    /// The template.
    public var template: String
    /// What is wrong, in words.
    public var reason: String

    /// Makes an error.
    public init(template: String, reason: String) {
        self.template = template
        self.reason = reason
    }
}
