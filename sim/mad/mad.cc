#include "sim/mad/mad.h"

#include "sim/mad/fields.h"

namespace verbatim::mad {

namespace {

template <class Fields, class Head>
void visit(Fields& fields, Head& header) {
  fields.number(0, 0, 8, header.base_version);
  fields.number(1, 0, 8, header.management_class);
  fields.number(2, 0, 8, header.class_version);
  fields.number(3, 0, 8, header.method);
  fields.number(4, 0, 16, header.status);
  fields.number(6, 0, 16, header.class_specific);
  fields.number(8, 0, 64, header.transaction_id);
  fields.number(16, 0, 16, header.attribute_id);
  fields.number(20, 0, 32, header.attribute_modifier);
}

}  // namespace

Header header_of(const ib::Mad& mad) {
  Header header;
  FieldReader reader(mad);
  visit(reader, header);
  return header;
}

void put_header(ib::Mad& mad, const Header& header) {
  FieldWriter writer(mad);
  visit(writer, header);
}

}  // namespace verbatim::mad
